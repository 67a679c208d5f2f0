import {
  Filter,
  type FilteredValueToken,
  type PropertyAccessToken,
  type RangeToken,
  type Token,
  TypeGuards,
  type Value,
} from "liquidjs"
import { exactNumber } from "../json/ExactNumber.ts"
import { filters } from "./Filters.ts"
import * as Limits from "./Limits.ts"
import { Refused } from "./Refused.ts"
import type { Run } from "./Run.ts"
import { blank, compare, contains, empty, equals, integer, isNothing, isTrue, Markup, member, plain } from "./Values.ts"

/**
 * liquidjs parses, and this module evaluates. The evaluation of liquidjs cannot be bounded from outside:
 * `(9007199254740992..9007199254740994)` never ends and none of its limits stops it, comparing or printing a list that
 * contains another list many times needs exponential time, and `forloop` exposes its prototype. Here an expression is
 * compiled once to a function that charges all of its work. The compiler refuses unknown constructs.
 */
export type Evaluate = (run: Run) => unknown

type Compile = (token: Token, lenient: boolean, depth: number) => Evaluate

const excerpt = (token: Token): string => {
  const source = token.getText().trim()
  return JSON.stringify(source.length > 40 ? `${source.slice(0, 40)}…` : source)
}

const constant = (value: unknown): Evaluate => () => value

/**
 * `lenient`: an undefined variable is not a fault even in strict mode, because the template tests for its existence.
 */
const compileToken: Compile = (token, lenient, depth) => {
  if (depth > Limits.nesting) throw new Refused(`is nested deeper than ${Limits.nesting} levels`, token.begin)
  if (TypeGuards.isNumberToken(token)) return constant(exactNumber(token.getText()))
  if (TypeGuards.isQuotedToken(token)) return constant(token.content)
  if (TypeGuards.isLiteralToken(token)) {
    switch (token.literal) {
      case "true":
        return constant(true)
      case "false":
        return constant(false)
      case "empty":
        return constant(empty)
      case "blank":
        return constant(blank)
      case "nil":
      case "null":
        return constant(null)
    }
  }
  if (TypeGuards.isPropertyAccessToken(token)) return compileAccess(token, lenient, depth)
  if (TypeGuards.isRangeToken(token)) return compileRange(token, depth)
  if (TypeGuards.isFilteredValueToken(token)) return compileValue(token, lenient).evaluate
  throw new Refused(`does not understand ${excerpt(token)}`, token.begin)
}

/** Returns the value, as plain text if it is text. */
export const asPlain = (evaluate: Evaluate): Evaluate => (run) => plain(evaluate(run))

const compilePlain: Compile = (token, lenient, depth) => asPlain(compileToken(token, lenient, depth))

/** A value used by a tag, such as the list of a loop. */
export const compileOperand = (token: Token, lenient = false): Evaluate => compilePlain(token, lenient, 0)

const special = /[&<>"']/

/** A literal in the source. Its author is the template's author, so in an `html` variable it is not escaped. */
const compileLiteral = (token: Token, html: boolean): Evaluate | undefined =>
  html && TypeGuards.isQuotedToken(token) && special.test(token.content)
    ? constant(new Markup(token.content, token.content))
    : undefined

/**
 * A value that a snippet gets. A missing one is no fault here, because the snippet may test it. HTML of the author stays
 * HTML.
 */
export const compileArgument = (token: Token, html: boolean): Evaluate =>
  compileLiteral(token, html) ?? compileToken(token, true, 0)

const compileRange = (token: RangeToken, depth: number): Evaluate => {
  const low = compilePlain(token.lhs, false, depth + 1)
  const high = compilePlain(token.rhs, false, depth + 1)
  return (run) => {
    const from = integer(low(run), run, "range", 0)
    const length = integer(high(run), run, "range", 0) - from + 1
    if (length <= 0) return []
    run.spend(length)
    return Array.from({ length }, (_, index) => from + index)
  }
}

const compileAccess = (token: PropertyAccessToken, lenient: boolean, depth: number): Evaluate => {
  const { begin } = token
  const base = token.variable === undefined ? undefined : compilePlain(token.variable, lenient, depth + 1)
  const keys = token.props.map((prop) =>
    TypeGuards.isWordToken(prop) ? constant(prop.content) : compilePlain(prop, false, depth + 1)
  )
  if (base === undefined && keys.length === 1 && TypeGuards.isWordToken(token.props[0])) {
    const name = token.props[0].content
    return (run) => {
      run.spend(1)
      const value = run.variable(name)
      if (value === undefined && !lenient && !run.isReported(name)) run.lacks(name, begin)
      return value
    }
  }
  return (run) => {
    run.spend(1 + keys.length)
    // Names are joined for messages only if the mode reports them.
    const path: Array<string> | undefined = run.options.strict && !lenient ? [] : undefined
    let value = base?.(run)
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index]!(run)
      path?.push(typeof key === "string" || typeof key === "number" ? String(key).slice(0, 100) : "?")
      if (index === 0 && base === undefined) {
        value = typeof key === "string" || typeof key === "number" ? plain(run.variable(String(key))) : undefined
      } else {
        // A member of null is null, because the caller sent null on purpose.
        if (value === null) return null
        value = member(value, key, run)
      }
      if (value === undefined) {
        // A key that is nothing has already been reported.
        if (path === undefined || isNothing(key)) return undefined
        if (index > 0 || base !== undefined || !run.isReported(path[0]!)) run.lacks(path.join(".").slice(0, 200), begin)
        return undefined
      }
    }
    return value
  }
}

/**
 * A value that another value is compared with. A preview reports a name without a value, which is often a text without
 * quotation marks.
 */
export const compileExpected = (token: Token): Evaluate => {
  const evaluate = compileOperand(token, true)
  if (!TypeGuards.isPropertyAccessToken(token) || token.variable !== undefined) return evaluate
  const [word] = token.props
  if (token.props.length !== 1 || !TypeGuards.isWordToken(word)) return evaluate
  const name = word.content
  return (run) => {
    const value = evaluate(run)
    if (value === undefined && run.options.recordsEmpty === true && !run.isReported(name)) run.lacks(name, token.begin)
    return value
  }
}

type Operate = (left: unknown, right: unknown, run: Run) => unknown

const binary: Record<string, Operate> = {
  "==": equals,
  "!=": (left, right, run) => !equals(left, right, run),
  "<>": (left, right, run) => !equals(left, right, run),
  ">": (left, right, run) => compare(left, right, run) > 0,
  "<": (left, right, run) => compare(left, right, run) < 0,
  ">=": (left, right, run) => compare(left, right, run) >= 0,
  "<=": (left, right, run) => compare(left, right, run) <= 0,
  contains,
  and: (left, right) => isTrue(left) && isTrue(right),
  or: (left, right) => isTrue(left) || isTrue(right),
}

const comparing: ReadonlySet<string> = new Set(["==", "!=", "<>", "contains"])

/** Compiles operands and operators in postfix order. As everywhere in Liquid, `and` and `or` group to the right. */
const compileExpression = (postfix: ReadonlyArray<Token>, whole: Token, lenient: boolean, html: boolean): Evaluate => {
  const malformed = () => new Refused(`cannot be read as a value: ${excerpt(whole)}`, whole.begin)
  if (postfix.length === 1 && !TypeGuards.isOperatorToken(postfix[0])) {
    return compileLiteral(postfix[0]!, html) ?? compileToken(postfix[0]!, lenient, 0)
  }
  const program: Array<(stack: Array<unknown>, run: Run) => void> = []
  let height = 0
  for (const [place, token] of postfix.entries()) {
    if (!TypeGuards.isOperatorToken(token)) {
      const next = postfix[place + 1]
      const isExpected = lenient && next !== undefined && TypeGuards.isOperatorToken(next) &&
        comparing.has(next.operator)
      const evaluate = isExpected ? compileExpected(token) : compilePlain(token, lenient, 0)
      program.push((stack, run) => stack.push(evaluate(run)))
      height++
    } else if (token.operator === "not") {
      if (height < 1) throw malformed()
      program.push((stack) => stack.push(!isTrue(stack.pop())))
    } else {
      const operate = binary[token.operator]
      if (operate === undefined || height < 2) throw malformed()
      program.push((stack, run) => {
        const right = stack.pop()
        stack.push(operate(stack.pop(), right, run))
      })
      height--
    }
  }
  if (height !== 1) throw malformed()
  return (run) => {
    const stack: Array<unknown> = []
    for (const step of program) {
      run.spend(1)
      step(stack, run)
    }
    return stack[0]
  }
}

type Step = (input: unknown, run: Run) => unknown

type FilterUse = Filter | FilteredValueToken["filters"][number]

const noArguments: ReadonlyArray<unknown> = []
const noNamed: ReadonlyMap<string, unknown> = new Map()

const compileFilter = (token: FilterUse, html: boolean): Step => {
  const place: Token = token instanceof Filter ? token["token"] : token
  const entry = filters.get(token.name)
  if (entry === undefined) throw new Refused(`there is no filter ${JSON.stringify(token.name)}`, place.begin)
  const { apply, rich = false } = entry
  const args: Array<Evaluate> = []
  const named: Array<readonly [string, Evaluate]> = []
  for (const arg of token.args) {
    if (!Array.isArray(arg)) {
      args.push(rich ? compileLiteral(arg, html) ?? compileToken(arg, false, 0) : compilePlain(arg, false, 0))
    } else if (arg[0] !== undefined && arg[1] !== undefined) named.push([arg[0], compilePlain(arg[1], false, 0)])
  }
  if (args.length < entry.needs) {
    const some = entry.needs === 1 ? "an argument" : `${entry.needs} arguments`
    throw new Refused(`the filter ${JSON.stringify(token.name)} needs ${some}`, place.begin)
  }
  return (input, run) => {
    run.spend(2)
    const given = args.length === 0 ? noArguments : args.map((arg) => arg(run))
    const names = named.length === 0 ? noNamed : new Map(named.map(([key, arg]) => [key, arg(run)]))
    const made = apply(rich ? input : plain(input), given, run, names)
    if (made instanceof Markup) {
      run.room(made.html.length)
      run.scan(made.html.length, 3)
    } else if (typeof made === "string") {
      run.room(made.length)
      run.scan(made.length, 3)
    } else if (typeof made === "number") {
      return Number.isFinite(made) ? made : undefined
    } else if (Array.isArray(made)) run.spend(made.length)
    return made
  }
}

/** A value with its filters, and the name of the last filter, which may have escaped the value. */
export interface CompiledValue {
  readonly evaluate: Evaluate
  readonly lastFilter: string | undefined
}

/**
 * Compiles `value | filter: argument | …`. `| default:` tests for a value, so its input may be undefined. `html`: the
 * variable is HTML, so literals count as markup.
 */
export const compileValue = (
  value: Value | FilteredValueToken,
  lenient = false,
  at?: Token,
  html = false,
): CompiledValue => {
  const names = value.filters.map(({ name }: FilterUse) => name)
  const whole = at ?? value.initial.postfix[0]!
  const initial = compileExpression(value.initial.postfix, whole, lenient || names[0] === "default", html)
  const steps = value.filters.map((token: FilterUse) => compileFilter(token, html))
  const lastDefault = names.lastIndexOf("default")
  const evaluate: Evaluate = steps.length === 0 ? initial : (run) => {
    const missing = lastDefault > 0 && run.options.recordsEmpty === true ? new Map(run.missing) : undefined
    let made = initial(run)
    for (let place = 0; place < steps.length; place++) {
      const input = made
      made = steps[place]!(made, run)
      // In a preview, a default that replaces the input also answers for the names that are missing in it.
      if (missing !== undefined && made !== input && names[place] === "default") run.missing = new Map(missing)
    }
    return made
  }
  return { evaluate, lastFilter: names.at(-1) }
}
