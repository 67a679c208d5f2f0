// Measures the time of a Liquid step: deno task bench liquid [--only NAME] [--top 40]. Every filter, comparison and tag
// processes adversarial values of several sizes until its steps are used up. The table contains the worst value of each
// operation. A step should need less than 0.3 µs, so that a rendering reaches its limit of steps before its limit of
// time. The last line is an ordinary variant.
import { Result } from "effect"
import { parseArgs } from "node:util"
import { Budget } from "../src/rendering/Budget.ts"
import { filters } from "../src/rendering/Filters.ts"
import * as Limits from "../src/rendering/Limits.ts"
import { parseVars, render } from "../src/rendering/Renderer.ts"
import { textFilters } from "../src/rendering/TextFilters.ts"
import { lists, numbers, records, texts } from "./support/LiquidValues.ts"

const { values: flags } = parseArgs({
  args: Deno.args.slice(1),
  options: { only: { type: "string" }, top: { type: "string", default: "40" } },
})

interface Measured {
  readonly operation: string
  readonly value: string
  readonly size: number
  readonly steps: number
  readonly millis: number
  readonly microsPerStep: number
}

/**
 * Returns the minimum of wall time and processor time over several runs. A busy machine increases the wall time, and
 * parallel garbage collection increases the processor time.
 */
const timed = (runs: number, run: () => void): number => {
  let least = Infinity
  for (let i = 0; i < runs; i++) {
    const cpu = process.cpuUsage()
    const wall = performance.now()
    run()
    const wallMillis = performance.now() - wall
    const { system, user } = process.cpuUsage(cpu)
    least = Math.min(least, wallMillis, Math.max((user + system) / 1000, 0.1 * wallMillis))
  }
  return least
}

const items = 20

const measure = (
  operation: string,
  source: string,
  value: string,
  size: number,
  fields: Record<string, unknown>,
  runs = 1,
): Measured => {
  const parsed = Result.getOrThrow(parseVars({ v: source }, {}))
  let spent = 0
  // The clock does not advance, so that only the limit of steps ends the rendering. The smallest share of a request
  // keeps the benchmark short.
  const once = () => {
    const budget = new Budget(items, () => 0)
    render(parsed, fields, { strict: false, now: 0, budget })
    spent = budget.spent
  }
  const millis = timed(runs, once)
  const steps = Math.min(spent, Limits.requestSteps / items)
  return { operation, value, size, steps, millis, microsPerStep: millis * 1000 / Math.max(steps, 1) }
}

/** Returns a loop whose ranges use few steps themselves. */
const looped = (body: string) => `{% for i in (1..1000) %}{% for j in (1..1000) %}${body}{% endfor %}{% endfor %}`

/**
 * Returns the arguments with which a filter is measured. `a` is the value itself, and `b` another value of its kind.
 */
const argumentsOf = (name: string): ReadonlyArray<string> => {
  switch (name) {
    case "slugify":
      return ['"latin"', '"pretty"', '"ascii"', '"raw"', ""]
    case "number_of_words":
      return ['"cjk"', '"auto"', ""]
    case "date":
      return ['"%c%r%10N", "Asia/Tokyo"', "b", '"%Y", b', ""]
    case "date_to_string":
    case "date_to_long_string":
      return ['"ordinal", "US"']
    case "json":
    case "jsonify":
    case "inspect":
      return ["", "10"]
    case "round":
      return ["b", "2"]
    case "split":
    case "remove":
    case "remove_first":
    case "remove_last":
      return ['""', '"a"', "b", "c"]
    case "replace":
    case "replace_first":
    case "replace_last":
      return ['"", ""', '"a", "b"', 'b, ""', 'c, "x"']
    case "where":
    case "reject":
    case "find":
    case "find_index":
    case "has":
      return ['"a"', '"a", b', '"a.b.c.d", 1', "b, b"]
    case "map":
    case "group_by":
      return ['"a"', '"a.b.c.d"', '"x"', "b"]
    case "sum":
    case "uniq":
    case "compact":
    case "sort":
    case "sort_natural":
      return ["", '"a"', '"a.b.c.d"', "b"]
    case "truncate":
    case "truncatewords":
      return ["", "400000, b", "b"]
    case "slice":
      return ["0, 400000", "-400000, 400000", "b, b"]
    case "strip":
    case "lstrip":
    case "rstrip":
      return ["", "b", '" -a"']
    case "default":
      return ["b", "b, allow_false: true"]
    case "join":
    case "array_to_sentence_string":
      return ["", "b"]
    default:
      return (filters.get(name)?.needs ?? 0) === 0 ? [""] : ["b"]
  }
}

const operations: Array<{ readonly name: string; readonly source: string }> = []
for (const name of filters.keys()) {
  for (const args of argumentsOf(name)) {
    const use = args === "" ? name : `${name}: ${args}`
    operations.push({ name: use, source: looped(`{% assign r = a | ${use} %}`) })
  }
}
for (const operator of ["==", "!=", "<", ">=", "contains"]) {
  for (const right of ["b", "c", "blank", "empty", "1", '"1"']) {
    operations.push({ name: `a ${operator} ${right}`, source: looped(`{% if a ${operator} ${right} %}{% endif %}`) })
  }
}
for (
  const [name, body] of Object.entries({
    "output": "{{ a }}",
    "capture": "{% capture r %}{{ a }}{% endcapture %}",
    "for": "{% for x in a %}{% endfor %}",
    "for reversed": "{% for x in a reversed limit: 1 offset: 1 %}{% endfor %}",
    "for limit from text": "{% for x in a limit: b offset: b %}{% endfor %}",
    "tablerow": "{% tablerow x in a cols: 2 %}{% endtablerow %}",
    "case": "{% case a %}{% when b, c, 1 %}{% when a %}{% endcase %}",
    "cycle": "{% cycle a: a, b %}",
    "size": "{% assign r = a.size %}",
    "first": "{% assign r = a.first %}",
    "member": "{% assign r = a[b] %}",
    "member of a text": "{% assign r = o[a] %}",
    "path": "{% assign r = a.a.b.c.d %}",
    "range": "{% assign r = (a..b) %}",
    "variable": "{% assign r = a %}",
    "increment": "{% increment r %}",
    "and, or, not": "{% if a and b or not c and a %}{% endif %}",
    "unless": "{% unless a %}{% elsif b %}{% endunless %}",
  })
) operations.push({ name, source: looped(body) })

const sizes = [1, 20, 400, 10_000, 900_000]
const few = Object.fromEntries(
  ["list of texts", "list of lists", "list of digits", "list of two long texts"].map((name) => [name, lists[name]!]),
)
const all = { ...texts, ...numbers, ...lists, ...records }
const rows: Array<Measured> = []
for (const { name, source } of operations) {
  if (flags.only !== undefined && !name.startsWith(flags.only)) continue
  let worst: Measured | undefined
  const values = Object.hasOwn(textFilters, name.split(":")[0]!) ? { ...texts, ...numbers, ...few } : all
  for (const [value, make] of Object.entries(values)) {
    for (const size of sizes) {
      const [a, b, c] = make(size)
      if (a === undefined) continue
      const fields = { a, b, c, o: { a: 1 } }
      let measured = measure(name, source, value, size, fields)
      // A slow operation is measured again several times, because a short run is not a reliable measure of a step.
      if (measured.microsPerStep > Math.max(0.2, worst?.microsPerStep ?? 0)) {
        measured = measure(name, source, value, size, fields, 4)
      }
      if (flags.only !== undefined) rows.push(measured)
      else if (measured.millis > 1 && measured.microsPerStep > (worst?.microsPerStep ?? 0)) worst = measured
    }
  }
  if (worst !== undefined) rows.push(worst)
}
rows.sort((left, right) => right.microsPerStep - left.microsPerStep)
console.log("\n| operation | value | size | steps | ms | µs a step |\n| --- | --- | ---: | ---: | ---: | ---: |")
for (const { microsPerStep, millis, operation, size, steps, value } of rows.slice(0, Number(flags.top))) {
  const cells = [operation, value, size, steps, millis.toFixed(1), microsPerStep.toFixed(3)]
  console.log(`| ${cells.join(" | ")} |`)
}
console.log(`${rows.filter(({ microsPerStep }) => microsPerStep > 0.3).length} of ${rows.length} above 0.3 µs`)

const ordinary = Result.getOrThrow(parseVars({
  subject: "Hi {{ name }}, offer 3 for you",
  preheader: "Only in {{ city | upcase }} today",
  body: "Dear {{ name | default: 'friend' }}, we picked {{ product }} for you.",
}, {}))
const fields = { name: "Ann", city: "Oslo", product: "boots" }
const rounds = 200_000
const micros = timed(10, () => {
  for (let i = 0; i < rounds; i++) render(ordinary, fields, { strict: false, now: 0 })
}) * 1000 / rounds
console.log(`An ordinary variant of three variables: ${micros.toFixed(3)} µs`)
