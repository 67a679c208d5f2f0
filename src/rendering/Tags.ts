import {
  AssignTag,
  BreakTag,
  CaptureTag,
  CaseTag,
  CommentTag,
  ContinueTag,
  CycleTag,
  DecrementTag,
  EchoTag,
  type FilteredValueToken,
  ForTag,
  type Hash,
  IfTag,
  IncrementTag,
  LiquidTag,
  Output,
  RawTag,
  TablerowTag,
  type Template,
  type Token,
  TypeGuards,
  UnlessTag,
  type Value,
} from "liquidjs"
import { escape, escapeJson, escapeParameter, escapeScript } from "./Escaping.ts"
import {
  asPlain,
  compileArgument,
  type CompiledValue,
  compileExpected,
  compileOperand,
  compileValue,
  type Evaluate,
} from "./Expressions.ts"
import { encodesUrl, escaped, writesJson } from "./Filters.ts"
import type { OutputPlace, OutputPlaceOf } from "./Places.ts"
import { Refused } from "./Refused.ts"
import { Remark } from "./Remark.ts"
import { RenderTag } from "./RenderTag.ts"
import { Jump, type Run } from "./Run.ts"
import { LimitReached } from "./LimitReached.ts"
import { elements, equals, integer, isTrue, Loop, Markup, plain, text } from "./Values.ts"

/** Renders one text, output or tag into the run. */
export type Render = (run: Run) => void

/** Renders templates one after the other, until one of them breaks or continues a surrounding loop. */
const all = (renders: ReadonlyArray<Render>): Render => {
  if (renders.length === 1) return renders[0]!
  return (run) => {
    for (let index = 0; index < renders.length; index++) {
      renders[index]!(run)
      if (run.jump !== Jump.none) return
    }
  }
}

/** The places of the outputs of an `html` variable. False: the variable is `text`. */
type Html = false | OutputPlaceOf

/**
 * Compiles parsed templates for one format. In an `html` variable, data is escaped for its place unless the last filter
 * is exempt. Text of the author, in literals or between `capture` tags, is not escaped.
 */
export const compile = (templates: ReadonlyArray<Template>, html: Html): Render =>
  all(templates.map((template) => compileTemplate(template, html)).filter((render) => render !== undefined))

type Escape = (text: string, run: Run) => string

/** Returns how to escape a value after its last filter. Undefined: it stays as it is. */
const escapeFor = (place: OutputPlace, lastFilter = ""): Escape | undefined => {
  if (escaped.has(lastFilter)) return undefined
  if (place === "script") return writesJson.has(lastFilter) ? escapeJson : escapeScript
  return place === "parameter" && !encodesUrl.has(lastFilter) ? escapeParameter : escape
}

const write = ({ evaluate, lastFilter }: CompiledValue, begin: number, html: Html): Render => {
  const escapeValue = html === false ? undefined : escapeFor(html(begin), lastFilter)
  return escapeValue === undefined
    ? (run) => {
      run.at = begin
      run.write(text(evaluate(run), run))
    }
    : (run) => {
      run.at = begin
      const value = evaluate(run)
      run.write(value instanceof Markup ? value.html : escapeValue(text(value, run), run))
    }
}

const compileTemplate = (template: Template, html: Html): Render | undefined => {
  const { token } = template
  const { begin } = token
  const body = (templates: ReadonlyArray<Template> | undefined) => compile(templates ?? [], html)
  if (TypeGuards.isHTMLToken(token)) {
    const constant = token.getContent()
    return constant === "" ? undefined : (run) => run.write(constant)
  }
  if (template instanceof Output) return write(compileValue(template.value, false, token, html !== false), begin, html)
  if (template instanceof EchoTag) {
    const value: Value | undefined = template["value"]
    return value && write(compileValue(value, false, token, html !== false), begin, html)
  }
  if (template instanceof AssignTag) {
    const name: string = template["key"]
    const value: Value = template["value"]
    const { evaluate } = compileValue(value, false, token, html !== false)
    return (run) => {
      run.at = begin
      run.locals.set(name, evaluate(run))
    }
  }
  if (template instanceof CaptureTag) return capture(template.variable, body(template.templates), html)
  if (template instanceof IfTag) {
    return branches(
      template.branches.map(({ templates, value }) => ({
        holds: condition(compileValue(value, true, token).evaluate, true),
        render: body(templates),
      })),
      body(template.elseTemplates),
      begin,
    )
  }
  if (template instanceof UnlessTag) {
    return branches(
      template.branches.map(({ templates, value }, index) => ({
        holds: condition(compileValue(value, true, token).evaluate, index > 0),
        render: body(templates),
      })),
      body(template.elseTemplates),
      begin,
    )
  }
  if (template instanceof CaseTag) return compileCase(template, begin, body)
  if (template instanceof ForTag) return compileFor(template, begin, body)
  if (template instanceof TablerowTag) return compileTablerow(template, begin, body)
  if (template instanceof LiquidTag) return body(template.templates)
  if (template instanceof RawTag) {
    const parts: ReadonlyArray<Token> = template["tokens"]
    const constant = parts.map((part) => part.getText()).join("")
    return (run) => run.write(constant)
  }
  if (template instanceof RenderTag) return compileRender(template, begin, html)
  if (template instanceof CycleTag) return compileCycle(template, begin, html)
  if (template instanceof IncrementTag) return count(template["variable"], 1, begin)
  if (template instanceof DecrementTag) return count(template["variable"], -1, begin)
  if (template instanceof BreakTag) {
    return (run) => {
      run.jump = Jump.break
    }
  }
  if (template instanceof ContinueTag) {
    return (run) => {
      run.jump = Jump.continue
    }
  }
  if (template instanceof CommentTag || template instanceof Remark) return undefined
  throw new Refused("is not available here", begin)
}

/** The captured text counts as a separate output: doubling it in a loop ends at the limit, not in gigabytes. */
const capture = (name: string, body: Render, html: Html): Render => (run) => {
  const { empty, out: outside } = run
  run.out = ""
  // Offsets within the captured text are no offsets of the output.
  run.empty = undefined
  body(run)
  run.empty = empty
  run.locals.set(name, html !== false ? new Markup(run.out, run.out) : run.out)
  run.out = outside
}

const condition = (evaluate: Evaluate, expected: boolean) => (run: Run): boolean => isTrue(evaluate(run)) === expected

interface Branch {
  readonly holds: (run: Run) => boolean
  readonly render: Render
}

const branches = (choices: ReadonlyArray<Branch>, otherwise: Render, begin: number): Render => (run) => {
  run.at = begin
  for (const { holds, render } of choices) {
    run.spend(1)
    if (holds(run)) return render(run)
  }
  otherwise(run)
}

type Body = (templates: ReadonlyArray<Template> | undefined) => Render

/** Renders every `when` with an equal value, or `else` if none matched. */
const compileCase = (template: CaseTag, begin: number, body: Body): Render => {
  const target = asPlain(compileValue(template.value, true, template.token).evaluate)
  const choices = template.branches.map(({ templates, values }) => ({
    values: values.map(compileExpected),
    render: body(templates),
  }))
  const otherwise = body(template.elseTemplates)
  return (run) => {
    run.at = begin
    const value = target(run)
    let hit = false
    for (const { render, values } of choices) {
      if (!values.some((candidate) => equals(value, candidate(run), run))) continue
      hit = true
      render(run)
      if (run.jump !== Jump.none) return
    }
    if (!hit) otherwise(run)
  }
}

/** An argument such as `limit: 3`. Undefined if it is missing, nothing, or not a number. */
const argument = (hash: Hash, name: string): (run: Run) => number | undefined => {
  const token = Object.hasOwn(hash.hash, name) ? hash.hash[name] : undefined
  if (token === undefined) return () => undefined
  const evaluate = compileOperand(token)
  return (run) => integer(evaluate(run), run, name, undefined)
}

const compileFor = (template: ForTag, begin: number, body: Body): Render => {
  const { hash, variable } = template
  const collection = compileOperand(template.collection)
  const source = template.collection.getText()
  const position = `offset ${variable} ${source}`
  const continues = Object.hasOwn(hash.hash, "offset") && hash.hash["offset"]?.getText() === "continue"
  const offset = continues ? (run: Run) => run.positions.get(position) ?? 0 : argument(hash, "offset")
  const limit = argument(hash, "limit")
  const reversed = Object.hasOwn(hash.hash, "reversed")
  const render = body(template.templates)
  const otherwise = body(template.elseTemplates)
  return (run) => {
    run.at = begin
    let parts = elements(collection(run), run)
    if (parts.length === 0) return otherwise(run)
    const from = offset(run)
    const most = limit(run)
    if (from !== undefined || most !== undefined || reversed) {
      run.spend(parts.length)
      parts = parts.slice(from ?? 0).slice(0, most)
      if (reversed) parts = parts.toReversed()
    }
    run.positions.set(position, (from ?? 0) + parts.length)
    const loop = new Loop(parts.length, undefined)
    const current: { readonly name: string; value: unknown } = { name: variable, value: undefined }
    run.loops.push({ name: "forloop", value: loop }, current)
    for (; loop.index < parts.length; loop.index++) {
      run.spend(1)
      current.value = parts[loop.index]
      render(run)
      if (run.jump === Jump.break) break
      run.jump = Jump.none
    }
    run.jump = Jump.none
    run.loops.length -= 2
  }
}

const compileTablerow = (template: TablerowTag, begin: number, body: Body): Render => {
  const { args, variable } = template
  const collection = compileOperand(template.collection)
  const offset = argument(args, "offset")
  const limit = argument(args, "limit")
  const columns = argument(args, "cols")
  const render = body(template.templates)
  return (run) => {
    run.at = begin
    const whole = elements(collection(run), run)
    run.spend(whole.length)
    const parts = whole.slice(offset(run) ?? 0).slice(0, limit(run))
    const loop = new Loop(parts.length, Math.max(columns(run) || parts.length, 1))
    const current: { readonly name: string; value: unknown } = { name: variable, value: undefined }
    run.loops.push({ name: "tablerowloop", value: loop }, current)
    for (; loop.index < parts.length; loop.index++) {
      run.spend(1)
      current.value = parts[loop.index]
      if (loop.get("col_first")) {
        if (loop.index > 0) run.write("</tr>")
        run.write(`<tr class="row${loop.get("row")}">`)
      }
      run.write(`<td class="col${loop.get("col")}">`)
      render(run)
      run.write("</td>")
      if (run.jump === Jump.break) break
      run.jump = Jump.none
    }
    run.jump = Jump.none
    if (parts.length > 0) run.write("</tr>")
    run.loops.length -= 2
  }
}

/** A snippet keeps its format: in an `html` variable, the text of a `text` snippet is escaped like a value. */
const compileRender = ({ args, binding, id }: RenderTag, begin: number, html: Html): Render => {
  const given = args.map(([name, value]) => [name, compileArgument(value, html !== false)] as const)
  const bound = binding && compileArgument(binding.value, html !== false)
  const escapeText = html === false ? undefined : escapeFor(html(begin))
  const insert = (run: Run, scope: object): void => {
    const snippet = run.snippet(id)
    if (html === false && snippet.format === "html") {
      throw new LimitReached(`renders the snippet "${id}", which is HTML, in a text`)
    }
    if (escapeText === undefined || snippet.format === "html") return run.insert(id, snippet, scope, begin)
    const { empty, out } = run
    run.out = ""
    run.empty = undefined
    run.insert(id, snippet, scope, begin)
    const made = run.out
    run.out = out
    run.empty = empty
    run.write(escapeText(made, run))
  }
  return (run) => {
    run.at = begin
    run.spend(2 + given.length)
    const scope: Record<string, unknown> = Object.create(null)
    const value = bound?.(run)
    for (const [name, evaluate] of given) scope[name] = evaluate(run)
    if (binding === undefined) return insert(run, scope)
    if (!binding.isList) return insert(run, { __proto__: null, ...scope, [binding.name]: value })
    const parts = elements(plain(value), run)
    const forloop = new Loop(parts.length, undefined)
    for (; forloop.index < parts.length; forloop.index++) {
      run.spend(1)
      insert(run, { __proto__: null, ...scope, forloop, [binding.name]: parts[forloop.index] })
    }
  }
}

const compileCycle = (template: CycleTag, begin: number, html: Html): Render => {
  const candidates: ReadonlyArray<FilteredValueToken> = template["candidates"]
  const grouped: Token | undefined = template["group"]
  const group = grouped && compileOperand(grouped)
  const position = candidates.map((candidate) => candidate.getText()).join(",")
  const writes = candidates.map((candidate) =>
    write(compileValue(candidate, false, template.token, html !== false), begin, html)
  )
  return (run) => {
    run.at = begin
    const key = `cycle ${group === undefined ? "" : text(group(run), run).slice(0, 100)}:${position}`
    run.scan(key.length, 2)
    const index = run.positions.get(key) ?? 0
    run.positions.set(key, (index + 1) % writes.length)
    writes[index]!(run)
  }
}

/**
 * `increment` writes, then adds one. `decrement` subtracts one, then writes. Both begin at 0, or at the number in the
 * field of that name.
 */
const count = (name: string, step: 1 | -1, begin: number): Render => (run) => {
  run.at = begin
  const field = Object.hasOwn(run.fields, name) ? (run.fields as Record<string, unknown>)[name] : undefined
  const before = run.counters.get(name) ?? (typeof field === "number" ? Math.trunc(field) : 0)
  run.counters.set(name, before + step)
  run.write(String(step === 1 ? before : before + step))
}
