import process from "node:process"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer, Schedule, Scope } from "effect"
import type { Formats, Vars } from "../../src/domain/Template.ts"
import { SourceCheck } from "../../src/rendering/SourceCheck.ts"
import { hostile } from "./hostile.ts"
import type { Fields } from "./variants.ts"

/** The faults of a variant, none when it is fine. */
const faultsOf = (vars: Vars, formats: Formats = {}, fields?: Fields) =>
  SourceCheck.use((sources) => sources.check(vars, formats, fields)).pipe(
    Effect.as([]),
    Effect.catchTag("LiquidFaults", ({ faults }) => Effect.succeed(faults)),
  )

describe("SourceCheck", () => {
  // Not the second of the service: what is asked here is what it answers, on a machine however busy.
  it.layer(SourceCheck.layerWith({ deadline: "30 seconds" }), { excludeTestServices: true })((it) => {
    it.effect("accepts a variant that parses and renders, with unknown variables too", () =>
      Effect.gen(function* () {
        const vars = { subject: "Hi {{ name | default: 'you' }}", body: "<p>{{ user.name }}</p>", plain: "x" }
        assert.deepStrictEqual(yield* faultsOf(vars, { body: "html" }), [])
        assert.deepStrictEqual(yield* faultsOf(vars, {}, { name: "Ada", user: { name: "Ada" } }), [])
        assert.deepStrictEqual(yield* faultsOf({}), [])
      }))

    it.effect("lists the faults of all variables at once, each at its place", () =>
      Effect.gen(function* () {
        const faults = yield* faultsOf({
          a: "{{ x",
          b: "fine {{ x }}",
          c: "line\n  {% include 'x' %}",
          d: "{{ x | nope }}",
          e: "a".repeat(70_000),
        })
        assert.deepStrictEqual(
          faults.map(({ column, line, message, variable }) => `${variable} ${line}:${column} ${message}`),
          [
            'a 1:1 output "{{ x" not closed',
            'c 2:3 the tag "include" is not available: a variant cannot use other templates',
            'd 1:1 there is no filter "nope"',
            "e 1:1 is longer than 65536 characters",
          ],
        )
      }))

    it.effect("refuses what renders beyond the limits, with no fields or with those given", () =>
      Effect.gen(function* () {
        const doubling = "{% capture a %}0123456789{% endcapture %}{% for i in (1..40) %}" +
          "{% capture a %}{{ a }}{{ a }}{% endcapture %}{% endfor %}{{ a }}"
        assert.deepStrictEqual(yield* faultsOf({ v: doubling }), [
          { variable: "v", line: 1, column: 86, message: "renders to more than 1048576 characters" },
        ])
        const loop = { v: "{% for i in (1..n) %}{% endfor %}" }
        assert.deepStrictEqual(yield* faultsOf(loop), [])
        assert.deepStrictEqual((yield* faultsOf(loop, {}, { n: 1e12 })).map(({ message }) => message), [
          "takes too much work to render",
        ])
      }))

    it.effect("has an answer to every hostile template, and works on", () =>
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

    it.effect("keeps names and texts of every kind apart", () =>
      Effect.gen(function* () {
        const vars = JSON.parse(
          String.raw`{ "__proto__": "{{", "a\nb": "{{ x }}", "😀": "\u2028 {{ é | nope }}" }`,
        ) as Vars
        const faults = yield* faultsOf(vars, { "😀": "html" }, { x: "\n\r\u2028" })
        assert.deepStrictEqual(faults.map(({ variable }) => variable), ["__proto__", "😀"])
      }))

    it.effect("answers all of many who ask at once, each with its own", () =>
      Effect.gen(function* () {
        const asked = Array.from({ length: 20 }, (_, index) => index)
        const answers = yield* Effect.forEach(asked, (index) => faultsOf({ [`v${index}`]: "{{" }), {
          concurrency: "unbounded",
        })
        assert.deepStrictEqual(answers.map(([fault]) => fault?.variable), asked.map((index) => `v${index}`))
      }))
  })
})

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Waits until the operating system knows the process no more. */
const gone = (pid: number) =>
  Effect.sync(() => isAlive(pid)).pipe(
    Effect.repeat({ until: (alive) => !alive, schedule: Schedule.spaced("10 millis") }),
    Effect.timeout("20 seconds"),
  )

const program = new URL("./stuck.process.ts", import.meta.url)
const layer = SourceCheck.layerWith({ program })

/** The process that answered. */
const pid = Effect.map(faultsOf({ v: "{{ which }}" }), ([fault]) => Number(fault!.message))

describe("The process of SourceCheck", () => {
  it.live("is the same for one check after another", () =>
    Effect.gen(function* () {
      const first = yield* pid
      assert.isAbove(first, 0)
      assert.strictEqual(yield* pid, first)
    }).pipe(Effect.provide(layer)))

  it.live("has no permissions", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* faultsOf({ v: "{{ permissions }}" })).map(({ message }) => message), [""])
    }).pipe(Effect.provide(layer)))

  it.live("is ended when it takes longer than the deadline, and another does the next check", () =>
    Effect.gen(function* () {
      const first = yield* pid
      assert.deepStrictEqual(yield* faultsOf({ slow: "{{ hang }}" }), [
        { variable: "slow", line: 1, column: 1, message: "takes longer than 1s to check" },
      ])
      yield* gone(first)
      assert.notStrictEqual(yield* pid, first)
    }).pipe(Effect.provide(layer)))

  it.live("may die of a check, which is then refused", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* faultsOf({ v: "{{ exit }}" }), [
        {
          variable: "v",
          line: 1,
          column: 1,
          message: "ends the process that checks it, most likely for lack of memory",
        },
      ])
      assert.isAbove(yield* pid, 0)
    }).pipe(Effect.provide(layer)))

  it.live("is ended with the check it works on when nobody waits for that any more", () =>
    Effect.gen(function* () {
      const first = yield* pid
      const waiting = yield* Effect.forkChild(faultsOf({ v: "{{ hang }}" }), { startImmediately: true })
      yield* Fiber.interrupt(waiting)
      yield* gone(first)
      assert.isAbove(yield* pid, 0)
    }).pipe(Effect.provide(SourceCheck.layerWith({ program, deadline: "1 hour" }))))

  it.live("ends with the service", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(layer, scope)
      const first = yield* Effect.provide(pid, context)
      assert.isTrue(isAlive(first))
      yield* Scope.close(scope, Exit.void)
      yield* gone(first)
    }))

  it.live("ends when it has had nothing to do for a while", () =>
    Effect.gen(function* () {
      const first = yield* pid
      yield* gone(first)
      assert.notStrictEqual(yield* pid, first)
    }).pipe(Effect.provide(SourceCheck.layerWith({ program, idle: "50 millis" }))))

  it.live("is not started before the first Liquid is checked, and says so when it cannot be", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* faultsOf({ v: "no Liquid here" }), [])
      assert.deepStrictEqual((yield* faultsOf({ v: "a".repeat(70_000) })).map(({ variable }) => variable), ["v"])
      const exit = yield* Effect.exit(faultsOf({ v: "{{ x }}" }))
      assert.isTrue(Exit.isFailure(exit))
      if (Exit.isFailure(exit)) {
        assert.match(String(Cause.squash(exit.cause)), /process that checks Liquid did not start/)
      }
    }).pipe(Effect.provide(SourceCheck.layerWith({ program: new URL("./none.process.ts", import.meta.url) }))))
})
