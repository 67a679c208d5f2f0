import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Checking } from "../../src/checking/Checking.ts"
import type { Formats, Vars } from "../../src/domain/Template.ts"
import { SourceCheck } from "../../src/rendering/SourceCheck.ts"
import { hostile } from "./hostile.ts"
import type { Fields } from "./variants.ts"

/** The faults of a variant, none when it is fine. */
const sourceFaultsOf = (vars: Vars, formats: Formats = {}, org = "acme") =>
  SourceCheck.use((sources) => sources.check(org, { vars, formats })).pipe(
    Effect.as([]),
    Effect.catchTag("LiquidFaults", ({ faults }) => Effect.succeed(faults)),
  )

/** The faults of a source or, with fields, the faults of its preview. */
const faultsOf = Effect.fnUntraced(function* (vars: Vars, formats: Formats = {}, fields?: Fields) {
  if (fields === undefined) return yield* sourceFaultsOf(vars, formats)
  const options = { fields: JSON.stringify(fields), strict: false, now: 0, timeZone: "UTC" }
  const [rendered] = yield* (yield* Checking).run("acme", "render", { variants: [{ vars, formats }], ...options })
  return "vars" in rendered! ? [] : rendered!.faults
})

describe("SourceCheck", () => {
  // Longer than the second of the service: the answers are compared here, on a machine however busy.
  const layer = SourceCheck.layer.pipe(Layer.provideMerge(Checking.layerWith({ deadline: "30 seconds" })))
  it.layer(layer, { excludeTestServices: true })((it) => {
    it.effect("accepts a variant that parses and renders, even with unknown variables", () =>
      Effect.gen(function* () {
        const vars = { subject: "Hi {{ name | default: 'you' }}", body: "<p>{{ user.name }}</p>", plain: "x" }
        assert.deepStrictEqual(yield* faultsOf(vars, { body: "html" }), [])
        assert.deepStrictEqual(yield* faultsOf(vars, {}, { name: "Ada", user: { name: "Ada" } }), [])
        assert.deepStrictEqual(yield* faultsOf({}), [])
      }))

    it.effect("reports the faults of all variables with their positions", () =>
      Effect.gen(function* () {
        const faults = yield* faultsOf({
          a: "{{ x",
          b: "fine {{ x }}",
          c: "line\n  {% include 'x' %}",
          d: "{{ x | nope }}",
          e: "a".repeat(530_000),
        })
        assert.deepStrictEqual(
          faults.map(({ column, line, message, variable }) => `${variable} ${line}:${column} ${message}`),
          [
            'a 1:1 output "{{ x" not closed',
            "c 2:3 the tag \"include\" is not available: write {% render 'x' %}, which inserts a snippet. " +
            "A snippet sees only the values that the tag passes, as in {% render 'x', name: name %}",
            'd 1:8 there is no filter "nope"',
            "e 1:1 is longer than 524288 characters",
          ],
        )
      }))

    it.effect("rejects sources that exceed the limits of rendering, with and without fields", () =>
      Effect.gen(function* () {
        const doubling = "{% capture a %}0123456789{% endcapture %}{% for i in (1..40) %}" +
          "{% capture a %}{{ a }}{{ a }}{% endcapture %}{% endfor %}{{ a }}"
        assert.deepStrictEqual(yield* faultsOf({ v: doubling }), [
          { variable: "v", line: 1, column: 86, message: "renders to more than 1048576 characters" },
        ])
        const loop = { v: "{% for i in (1..n) %}{% endfor %}" }
        assert.deepStrictEqual(yield* faultsOf(loop), [])
        assert.deepStrictEqual((yield* faultsOf(loop, {}, { n: 1e12 })).map(({ message }) => message), [
          "takes too much work to render (more than 500,000 steps): loop over fewer elements, pass shorter values to filters",
        ])
      }))

    it.effect("answers every hostile template and continues", () =>
      Effect.gen(function* () {
        for (const { fields, format = "text", name, source } of hostile) {
          const faults = yield* faultsOf({ v: source }, { v: format }, fields)
          for (const { message, variable } of faults) {
            assert.strictEqual(variable, "v", name)
            assert.notInclude(message, "takes longer", name)
          }
        }
        assert.deepStrictEqual(yield* faultsOf({ v: "{{ x }}" }), [])
      }))

    it.effect("preserves unusual names and texts", () =>
      Effect.gen(function* () {
        const vars = JSON.parse(
          String.raw`{ "__proto__": "{{", "a\nb": "{{ x }}", "😀": "\u2028 {{ é | nope }}" }`,
        ) as Vars
        const faults = yield* faultsOf(vars, { "😀": "html" }, { x: "\n\r\u2028" })
        assert.deepStrictEqual(faults.map(({ variable }) => variable), ["__proto__", "😀"])
      }))

    it.effect("answers concurrent checks of many organizations separately", () =>
      Effect.gen(function* () {
        const asked = Array.from({ length: 20 }, (_, index) => index)
        const answers = yield* Effect.forEach(
          asked,
          (index) => sourceFaultsOf({ [`v${index}`]: "{{" }, {}, `${index}`),
          {
            concurrency: "unbounded",
          },
        )
        assert.deepStrictEqual(
          answers.map(([fault]) => fault?.variable),
          asked.map((index) => `v${index}`),
        )
      }))

    it.effect("checks several variants together and reports the faults of each", () =>
      Effect.gen(function* () {
        const sources = ["plain", "{{ x", "{{ x }}", "a".repeat(530_000), "{{ x | nope }}"]
        const checked = yield* SourceCheck.use((check) =>
          check.checkAll("acme", sources.map((v) => ({ vars: { v }, formats: {} })))
        )
        assert.deepStrictEqual(checked.map(({ faults }) => faults.map(({ message }) => message)), [
          [],
          ['output "{{ x" not closed'],
          [],
          ["is longer than 524288 characters"],
          ['there is no filter "nope"'],
        ])
      }))
  })
})
