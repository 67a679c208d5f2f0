import { Result, Schema } from "effect"
import type { RenderedFormat, RenderedFormats, Vars } from "../domain/Template.ts"
import { SourceFault } from "../text/TextFaults.ts"
import { Budget } from "./Budget.ts"
import { LimitReached } from "./LimitReached.ts"
import * as Limits from "./Limits.ts"
import { ParsedSources } from "./ParsedSources.ts"
import { type Complaint, Run, type RunOptions } from "./Run.ts"
import type { SnippetSource } from "../domain/Snippet.ts"
import { isParsed, type LiquidFault, type Parsed, placeOf } from "./Source.ts"

export type { LiquidFault, Parsed } from "./Source.ts"

/** A variant's Liquid cannot be used. At most one fault for each variable, in the order of the variables. */
export class LiquidFaults extends Schema.TaggedError<LiquidFaults>()("LiquidFaults", {
  faults: Schema.Array(SourceFault),
}) {
  override get message() {
    return this.faults.map(describe).join("; ")
  }
}

/**
 * A fault that prevented the rendering of a variable: Liquid variables that are `undefined` (strict mode), a value that
 * is `invalid` for its use (strict mode), or a `limit` of work or length (always).
 */
const VariableFault = Schema.Struct({
  ...SourceFault.fields,
  kind: Schema.Literals(["undefined", "invalid", "limit"]),
  /** All names in the rendering that are not among the fields, such as `user.name`. Empty for other kinds. */
  undefinedVariables: Schema.Array(Schema.String),
})
type VariableFault = typeof VariableFault.Type

/** Rendering a variant failed. Lists all faults of all its variables, at least one. */
export class RenderFault extends Schema.TaggedError<RenderFault>()("RenderFault", {
  faults: Schema.Array(VariableFault),
}) {
  override get message() {
    return this.faults.map(describe).join("; ")
  }
}

const describe = ({ column, line, message, variable }: SourceFault) =>
  `${variable}, line ${line}, column ${column}: ${message}`

/** The variables of one variant, ready to render. */
interface ParsedVars {
  readonly names: ReadonlyArray<string>
  /** In the order of the names. */
  readonly parsed: ReadonlyArray<Parsed>
  /** Length of the variant's text without Liquid. */
  readonly constantLength: number
}

/** Options of a rendering. */
export interface RenderOptions extends RunOptions {
  /** The locale of the texts. Default: unknown. */
  readonly locale?: string | undefined
  /** The locales of variables whose locale is not `locale`. */
  readonly localeOf?: Readonly<Record<string, string>> | undefined
  /** Budget of rendering. Default: the budget of a request for one template. */
  readonly budget?: Budget
  /** Receives the values that filters could not use, without strict mode. Default: no receiver. */
  readonly warn?: (warning: SourceFault) => void
}

// Sources are equal on every node and for every render, so one cache serves the process.
const sources = new ParsedSources({ maxBytes: 64 * 1_048_576 })

/**
 * Parses one variable, or returns it from the cache. Faults are returned, not thrown: a source longer than 524,288
 * characters, malformed Liquid, unknown filters and tags, and tags that read other templates.
 */
export const parse = (source: string, format: RenderedFormat): Result.Result<Parsed, LiquidFault> => {
  const parsed = sources.parse(source, format)
  return isParsed(parsed) ? Result.succeed(parsed) : Result.fail(parsed)
}

/** Parses a snippet once for each of its versions, while the cache has room. */
const parseSnippet = ({ format, text }: SnippetSource): Parsed["render"] => {
  const parsed = sources.parse(text, format)
  if (isParsed(parsed)) return parsed.render
  throw new LimitReached(`renders a snippet whose Liquid cannot be read: ${parsed.message}`)
}

const knownNames = new WeakMap<Vars, ReadonlyArray<string>>()

/** The names of a variant's variables, created once for each variant in use. */
const namesOf = (vars: Vars): ReadonlyArray<string> => {
  let known = knownNames.get(vars)
  if (known === undefined) knownNames.set(vars, known = Object.keys(vars))
  return known
}

/**
 * Parses all variables of a variant. The default format is `text`. The limit of 131,072 characters for all tags and
 * outputs together bounds the time to about 100 ms. Fails with the faults of all variables at once.
 */
export const parseVars = (vars: Vars, formats: RenderedFormats): Result.Result<ParsedVars, LiquidFaults> => {
  const names = namesOf(vars)
  const parsed = new Array<Parsed>(names.length)
  let faults: Array<SourceFault> | undefined
  let constantLength = 0
  let liquidLeft = Limits.liquidLength
  for (let place = 0; place < names.length; place++) {
    const variable = names[place]!
    const format = Object.hasOwn(formats, variable) ? formats[variable]! : "text"
    const one = sources.parse(vars[variable]!, format, liquidLeft)
    if (!isParsed(one)) {
      ;(faults ??= []).push({ variable, ...one })
      continue
    }
    parsed[place] = one
    liquidLeft -= one.liquidLength
    if (typeof one.render !== "string") continue
    constantLength += one.render.length
    if (constantLength > Limits.variantLength) {
      const message = `makes the variant longer than ${Limits.variantLength} characters`
      ;(faults ??= []).push({ variable, message, line: 1, column: 1 })
    }
  }
  return faults === undefined
    ? Result.succeed({ names, parsed, constantLength })
    : Result.fail(new LiquidFaults({ faults }))
}

/**
 * Renders all variables of a variant with `fields`, any JSON object. Only its own properties are visible, under any
 * name. Values are never read as Liquid. Variables do not see assignments of other variables.
 *
 * Synchronous and bounded: at most 1,048,576 characters for a variable and 2,097,152 for a variant, within
 * `options.budget` (default: 500,000 steps and 50 ms). Past a limit, it fails with `limit` faults. Without `strict`,
 * nothing else fails: unknown variables are nothing, and unusable values are reported to `options.warn`.
 */
export const render = (
  parsed: ParsedVars,
  fields: Readonly<Record<string, unknown>>,
  options: RenderOptions,
): Result.Result<Record<string, string>, RenderFault> => {
  const rendered: Record<string, string> = {}
  const budget = options.budget ?? new Budget()
  budget.resume()
  if (parsed.constantLength > budget.length) return Result.fail(tooLong(parsed, budget))
  let faults: Array<VariableFault> | undefined
  let run: Run | undefined
  for (let place = 0; place < parsed.names.length; place++) {
    const variable = parsed.names[place]!
    const { render, source } = parsed.parsed[place]!
    if (typeof render === "string") {
      put(rendered, variable, render)
      continue
    }
    run ??= new Run(fields, options, parsed.constantLength, budget, parseSnippet)
    run.begin(localeIn(options, variable))
    try {
      render(run)
    } catch (error) {
      faults ??= []
      faults.push({ variable, ...limitOf(error), ...placeOf(source, run.at) })
    }
    run.end()
    if (options.strict && (run.missing !== undefined || run.complaints !== undefined)) {
      ;(faults ??= []).push(...strictFaults(variable, source, run))
      continue
    }
    if (run.complaints !== undefined) warnAbout(variable, source, run.complaints, options)
    put(rendered, variable, run.out)
  }
  return faults === undefined ? Result.succeed(rendered) : Result.fail(new RenderFault({ faults }))
}

/** A variable as it was rendered for sample values. Offsets are the positions of tags and outputs in the source. */
export interface Observed {
  readonly variable: string
  readonly source: string
  readonly text: string
  /** Names without a value that the source uses without testing them, with the offset of their first use. */
  readonly missing: ReadonlyMap<string, number>
  /** Names without a value in snippets, at the tags that render the snippets. */
  readonly missingInSnippets: ReadonlyArray<Complaint>
  /** Outputs without text: the offset in the source, and in the text. */
  readonly empty: ReadonlyMap<number, number>
}

/** Renders like `render` and returns what authors may want to know. Variables past a limit are left out. */
export const observe = (
  parsed: ParsedVars,
  fields: Readonly<Record<string, unknown>>,
  options: Omit<RenderOptions, "strict">,
): ReadonlyArray<Observed> => {
  const budget = options.budget ?? new Budget()
  const everything = { ...options, strict: true, recordsEmpty: true }
  const run = new Run(fields, everything, parsed.constantLength, budget, parseSnippet)
  return parsed.names.flatMap((variable, place): ReadonlyArray<Observed> => {
    const { render, source } = parsed.parsed[place]!
    if (typeof render === "string") {
      return [{ variable, source, text: render, missing: new Map(), missingInSnippets: [], empty: new Map() }]
    }
    run.begin(localeIn(options, variable))
    try {
      render(run)
    } catch {
      return []
    } finally {
      run.end()
    }
    const missingInSnippets = (run.complaints ?? []).filter(({ missing }) => missing !== undefined)
    return [{
      variable,
      source,
      text: run.out,
      missing: run.missing ?? new Map(),
      missingInSnippets,
      empty: run.empty ?? new Map(),
    }]
  })
}

/** Returns the fault of a variant whose text without Liquid alone exceeds the limit of an item of its request. */
const tooLong = ({ names }: ParsedVars, { length }: Budget): RenderFault =>
  new RenderFault({
    faults: [{
      variable: names[0]!,
      kind: "limit",
      message: `makes the variant longer than ${length} characters`,
      undefinedVariables: [],
      line: 1,
      column: 1,
    }],
  })

const localeIn = ({ locale, localeOf }: Pick<RenderOptions, "locale" | "localeOf">, variable: string) =>
  localeOf?.[variable] ?? locale

const put = (rendered: Record<string, string>, variable: string, text: string): void => {
  // An assignment to `__proto__` would set the prototype instead of a member.
  if (variable !== "__proto__") rendered[variable] = text
  else Object.defineProperty(rendered, variable, { value: text, enumerable: true, writable: true, configurable: true })
}

const limitOf = (error: unknown): Pick<VariableFault, "kind" | "message" | "undefinedVariables"> => ({
  kind: "limit",
  message: error instanceof LimitReached
    ? error.message
    : error instanceof RangeError
    ? "takes too much memory to render"
    : "cannot be rendered",
  undefinedVariables: [],
})

const warnAbout = (
  variable: string,
  source: string,
  complaints: NonNullable<Run["complaints"]>,
  { warn }: RenderOptions,
): void => {
  if (warn === undefined) return
  for (const { begin, message } of complaints) warn({ variable, message, ...placeOf(source, begin) })
}

const strictFaults = (variable: string, source: string, run: Run): ReadonlyArray<VariableFault> => {
  const faults: Array<VariableFault> = (run.complaints ?? []).map(({ begin, message, missing }) => ({
    variable,
    kind: missing === undefined ? "invalid" : "undefined",
    message,
    undefinedVariables: missing === undefined ? [] : [missing.name],
    ...placeOf(source, begin),
  }))
  if (run.missing === undefined) return faults
  const names = [...run.missing.keys()]
  const begin = Math.min(...run.missing.values())
  const plural = names.length === 1 ? "variable" : "variables"
  return [{
    variable,
    kind: "undefined",
    message: `undefined ${plural}: ${names.join(", ")}`,
    undefinedVariables: names,
    ...placeOf(source, begin),
  }, ...faults]
}
