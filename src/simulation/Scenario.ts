import { Result, Schema, SchemaIssue } from "effect"
import type { FileFault } from "../text/TextFaults.ts"
import type { Located, PlacedFault } from "../templates/FileValues.ts"
import { read } from "../templates/TemplateFileSource.ts"
import { makeWorld, type World } from "./World.ts"

export type { FileFault } from "../text/TextFaults.ts"

/** Maximum size of a world. Unit: decisions. */
const maxSends = 2_000_000

/** Maximum number of combinations of attribute values. Each has its own rate per variant. */
const maxCombinations = 10_000

const between = (minimum: number, maximum: number) => Schema.Finite.check(Schema.isBetween({ minimum, maximum }))

const Name = Schema.String.check(Schema.isPattern(/^[^\p{C}\s](?:[^\p{C}]{0,98}[^\p{C}\s])?$/u, {
  expected: "1 to 100 characters without control characters, not beginning or ending with a space",
}))

/** Factor of the clicks. 1 has no effect. */
const Factor = between(0.01, 100)

const Day = between(0, 3650)

const Value = Schema.Struct({
  value: Name,
  /** Relative share of the users: any positive number. Only ratios matter. */
  share: between(1e-6, 1e6),
  rate: Schema.optionalKey(Factor),
  variants: Schema.optionalKey(Schema.Record(Schema.String, Factor)),
})

const Attribute = Schema.Struct({
  /** Case-insensitive, like in a request's attributes. */
  name: Name,
  values: Schema.Array(Value).check(Schema.isMinLength(1), Schema.isMaxLength(50)),
})

const Variant = Schema.Struct({
  id: Name,
  rate: Schema.optionalKey(Factor),
  from_day: Schema.optionalKey(Day),
  until_day: Schema.optionalKey(Day),
})

/**
 * A world, described by its author; see `parse` for an example. Rates multiply: a message is clicked with probability
 * `base_rate` times the variant's `rate`, and for each attribute times the `rate` of the user's value and its `rate`
 * for the variant (at most 0.95). `drift` is the standard deviation of the daily steps by which the log rate of each
 * variant changes.
 */
export const Scenario = Schema.Struct({
  name: Schema.optionalKey(Name),
  days: between(1, 3650),
  sends_per_day: between(1, 1_000_000),
  base_rate: between(1e-5, 0.95),
  delay: Schema.optionalKey(Schema.Struct({ median_hours: between(0.001, 336), sigma: between(0, 5) })),
  drift: Schema.optionalKey(between(0, 1)),
  variants: Schema.Array(Variant).check(Schema.isMinLength(2), Schema.isMaxLength(200)),
  attributes: Schema.optionalKey(Schema.Array(Attribute).check(Schema.isMaxLength(10))),
})
export type Scenario = typeof Scenario.Type

const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => issue._tag === "UnexpectedKey" ? "is unknown" : SchemaIssue.defaultLeafHook(issue),
})

const kinds: Readonly<Record<string, string>> = {
  array: "a list",
  number: "a number",
  object: "a mapping",
  string: "text",
}

const inWords = (message: string): string => {
  if (message === "Missing key") return "is missing"
  const expected = message.replace(/^Expected /, "")
  return expected === message ? message : `must be ${kinds[expected] ?? expected}`
}

const placeOf = (root: Located, path: ReadonlyArray<PropertyKey>): number => {
  let located = root
  for (const [i, name] of path.entries()) {
    const found = located.members?.get(String(name))
    if (found === undefined) return located.offset
    // A fault of a name points to the name, and not to its value.
    if (i === path.length - 1) return Array.isArray(located.value) ? found.at.offset : found.keyOffset
    located = found.at
  }
  return located.offset
}

type Complaint = { readonly path: ReadonlyArray<PropertyKey>; readonly message: string }

const repeated = (
  names: ReadonlyArray<string>,
  path: (index: number) => ReadonlyArray<PropertyKey>,
): ReadonlyArray<Complaint> =>
  names.flatMap((name, i) => names.indexOf(name) < i ? [{ path: path(i), message: `${name} occurs twice` }] : [])

/** Days on which the set of variants changes, including the first day. */
const changes = ({ days, variants }: Scenario): ReadonlyArray<number> =>
  [0, ...variants.flatMap(({ from_day, until_day }) => [from_day ?? 0, until_day ?? 0])].filter((day) => day < days)

/** Faults that the schema of a single value cannot find. */
const crossFaults = (scenario: Scenario): ReadonlyArray<Complaint> => {
  const { attributes = [], days, sends_per_day, variants } = scenario
  const ids = variants.map(({ id }) => id)
  const combinations = attributes.reduce((product, { values }) => product * values.length, 1)
  const empty = changes(scenario).filter((day) =>
    !variants.some(({ from_day = 0, until_day = Infinity }) => from_day <= day && day < until_day)
  ).sort((a, b) => a - b)
  return [
    ...(days * sends_per_day > maxSends
      ? [{ path: ["sends_per_day"], message: `makes more than ${maxSends} decisions in ${days} days` }]
      : []),
    ...repeated(ids, (i) => ["variants", i, "id"]),
    ...variants.flatMap(({ from_day = 0, until_day = Infinity }, i) =>
      until_day <= from_day ? [{ path: ["variants", i, "until_day"], message: "must be after from_day" }] : []
    ),
    ...(empty.length > 0 ? [{ path: ["variants"], message: `leave nothing to choose on day ${empty[0]}` }] : []),
    ...repeated(attributes.map(({ name }) => name.toLowerCase()), (i) => ["attributes", i, "name"]),
    ...(combinations > maxCombinations
      ? [{ path: ["attributes"], message: `make ${combinations} combinations, more than ${maxCombinations}` }]
      : []),
    ...attributes.flatMap(({ values }, i) => [
      ...repeated(values.map(({ value }) => value), (j) => ["attributes", i, "values", j, "value"]),
      ...values.flatMap(({ variants: named = {} }, j) =>
        Object.keys(named).filter((id) => !ids.includes(id)).map((id) => ({
          path: ["attributes", i, "values", j, "variants", id],
          message: "is not the id of a variant",
        }))
      ),
    ]),
  ]
}

const pathText = (path: ReadonlyArray<PropertyKey>): string =>
  path.map((segment) => typeof segment === "number" ? `[${segment}]` : `.${String(segment)}`).join("").replace(
    /^\./,
    "",
  )

const decode = Schema.decodeUnknownResult(Scenario)

/**
 * Reads a scenario in YAML or JSON (which is a part of YAML):
 *
 * ```yaml
 * name: newsletter            # default: the file's name
 * days: 60
 * sends_per_day: 500
 * base_rate: 0.03             # clicks per message for a variant and a user without effects
 * delay: {median_hours: 5, sigma: 1.6}   # log-normal; default: no delay
 * drift: 0.02                 # default: 0
 * variants:
 *   - id: plain
 *   - {id: question, rate: 1.15}
 *   - {id: spring, rate: 1.3, from_day: 20, until_day: 50}
 * attributes:
 *   - name: plan
 *     values:
 *       - {value: free, share: 0.7}
 *       - {value: pro, share: 0.3, rate: 1.4, variants: {question: 0.8}}
 * ```
 *
 * Fails with all faults in the order of the file. Faults of the YAML syntax are listed alone, then faults of the schema
 * alone. Other faults are repeated ids and names, effects on unknown variants, and days without a variant to choose.
 */
export const parse = (text: string, fileName: string): Result.Result<Scenario, ReadonlyArray<FileFault>> => {
  const { faults, positionOf, root } = read(text)
  const refuse = (faults: ReadonlyArray<PlacedFault>) =>
    Result.fail(
      [...faults].sort((a, b) => a.offset - b.offset)
        .map(({ message, offset, path }) => ({ file: fileName, ...positionOf(offset), path: pathText(path), message })),
    )
  if (root === undefined || faults.length > 0) return refuse(faults)
  const placed = ({ message, path }: Complaint): PlacedFault => ({ offset: placeOf(root, path), path, message })
  const decoded = decode(root.value, { errors: "all", onExcessProperty: "error" })
  if (Result.isFailure(decoded)) {
    return refuse(
      issuesOf(decoded.failure.issue).issues.map(({ message, path = [] }) =>
        placed({
          message: inWords(message),
          path: path.map((segment) => typeof segment === "object" ? segment.key : segment),
        })
      ),
    )
  }
  const crossed = crossFaults(decoded.success)
  return crossed.length > 0 ? refuse(crossed.map(placed)) : Result.succeed(decoded.success)
}

/** Returns the world of a scenario. `days` replaces the scenario's length. Equal seeds return equal worlds. */
export const worldOf = (scenario: Scenario, seed: number, days = scenario.days): World => {
  const { attributes = [], base_rate, delay, drift = 0, sends_per_day } = scenario
  // Sorted, because learners number the variants by id.
  const variants = [...scenario.variants].sort((a, b) => a.id < b.id ? -1 : 1)
  const base = Math.log(base_rate)
  return makeWorld({
    name: scenario.name ?? "scenario",
    seed,
    days,
    sends: Math.max(1, Math.round(days * sends_per_day)),
    arms: variants.map(({ id }) => id),
    attributes: attributes.map(({ name, values }) => ({
      name: name.toLowerCase(),
      values: values.map(({ share, value }) => [value, share]),
    })),
    lifetimes: (arm) => [variants[arm]!.from_day ?? 0, variants[arm]!.until_day ?? Infinity],
    delay: delay === undefined ? undefined : { medianHours: delay.median_hours, sigma: delay.sigma },
    logRates: ({ normal }) => {
      const walk = new Float64Array(Math.ceil(days) * variants.length)
      for (let i = variants.length; i < walk.length; i++) walk[i] = walk[i - variants.length]! + drift * normal()
      return {
        byValues: (values, arm) =>
          values.reduce((sum, at, j) => {
            const { rate = 1, variants: own } = attributes[j]!.values[at]!
            return sum + Math.log(rate) + Math.log(own?.[variants[arm]!.id] ?? 1)
          }, base + Math.log(variants[arm]!.rate ?? 1)),
        byDay: (day, arm) => walk[day * variants.length + arm]!,
      }
    },
  })
}
