import process from "node:process"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer, Schedule, Scope } from "effect"
import { Checking, type CheckingOptions } from "../../src/checking/Checking.ts"
import type { Checks } from "../../src/checking/Checks.ts"
import type { Formats, Vars } from "../../src/domain/Template.ts"
import { SourceCheck } from "../../src/rendering/SourceCheck.ts"

/** The faults of a variant, none when it is fine. */
const faultsOf = (vars: Vars, formats: Formats = {}, org = "acme") =>
  SourceCheck.use((sources) => sources.check(org, { vars, formats })).pipe(
    Effect.as([]),
    Effect.catchTag("LiquidFaults", ({ faults }) => Effect.succeed(faults)),
  )

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
const layerWith = (options: CheckingOptions) =>
  SourceCheck.layer.pipe(Layer.provideMerge(Checking.layerWith({ program, ...options })))
const layer = layerWith({})

/** The process that answered. */
const pid = Effect.map(faultsOf({ v: "{{ which }}" }), ([fault]) => Number(fault!.message))

describe("the checking process", () => {
  it.live("is reused for consecutive checks", () =>
    Effect.gen(function* () {
      const first = yield* pid
      assert.isAbove(first, 0)
      assert.strictEqual(yield* pid, first)
    }).pipe(Effect.provide(layer)))

  it.live("has no permissions", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* faultsOf({ v: "{{ permissions }}" })).map(({ message }) => message), [""])
    }).pipe(Effect.provide(layer)))

  it.live("is stopped after the deadline, and another process runs the next check", () =>
    Effect.gen(function* () {
      const first = yield* pid
      assert.deepStrictEqual(yield* faultsOf({ slow: "{{ hang }}" }), [
        { variable: "slow", line: 1, column: 1, message: "takes longer than 1s to check" },
      ])
      yield* gone(first)
      assert.notStrictEqual(yield* pid, first)
    }).pipe(Effect.provide(layer)))

  it.live("may exit during a check, which is then rejected", () =>
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

  it.live("is stopped with its check when no caller waits for it", () =>
    Effect.gen(function* () {
      const first = yield* pid
      const waiting = yield* Effect.forkChild(faultsOf({ v: "{{ hang }}" }), { startImmediately: true })
      yield* Fiber.interrupt(waiting)
      yield* gone(first)
      assert.isAbove(yield* pid, 0)
    }).pipe(Effect.provide(layerWith({ deadline: "1 hour" }))))

  it.live("ends with the service", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(layer, scope)
      const first = yield* Effect.provide(pid, context)
      assert.isTrue(isAlive(first))
      yield* Scope.close(scope, Exit.void)
      yield* gone(first)
    }))

  it.live("stops after a period without work", () =>
    Effect.gen(function* () {
      const first = yield* pid
      yield* gone(first)
      assert.notStrictEqual(yield* pid, first)
    }).pipe(Effect.provide(layerWith({ idle: "50 millis" }))))

  it.live("is not started before the first Liquid is checked, and reports a failed start", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* faultsOf({ v: "no Liquid here" }), [])
      assert.deepStrictEqual((yield* faultsOf({ v: "Hi *|FNAME|*" })).map(({ variable }) => variable), ["v"])
      const exit = yield* Effect.exit(faultsOf({ v: "{{ x }}" }))
      assert.isTrue(Exit.isFailure(exit))
      if (Exit.isFailure(exit)) {
        assert.match(String(Cause.squash(exit.cause)), /process that checks Liquid did not start/)
      }
    }).pipe(Effect.provide(layerWith({ program: new URL("./none.process.ts", import.meta.url) }))))

  it.live("reports which of several variants exceeded the deadline", () =>
    Effect.gen(function* () {
      const checked = yield* SourceCheck.use((check) =>
        check.checkAll("acme", ["{{ a }}", "plain", "{{ hang }}"].map((v) => ({ vars: { v }, formats: {} })))
      )
      assert.deepStrictEqual(checked.map(({ faults }) => faults.map(({ message }) => message)), [[], [], [
        "takes longer than 500ms to check",
      ]])
    }).pipe(Effect.provide(layerWith({ deadline: "500 millis" }))))
})

const hang: Checks["mapping"]["request"] = { mapping: "hang", body: "", headers: {}, receivedAt: 0 }

/** Starts a check and answers once it waits or runs. */
const started = (org: string, request: Checks["mapping"]["request"]) =>
  Effect.gen(function* () {
    const checking = yield* Checking
    return yield* Effect.forkChild(Effect.result(checking.run(org, "mapping", request)), { startImmediately: true })
  })

describe("waiting checks", () => {
  it.live("are refused if many of the organization wait, without affecting others", () =>
    Effect.gen(function* () {
      const own = yield* Effect.forEach(Array.from({ length: 16 }), () => started("greedy", hang))
      const refused = yield* Effect.flip(Checking.use((checking) => checking.run("greedy", "mapping", hang)))
      assert.strictEqual(refused._tag, "ChecksBusy")
      assert.match(refused.message, /Try again in a few seconds/)
      const other = yield* started("modest", hang)
      assert.isUndefined(other.pollUnsafe())
      yield* Effect.forEach([...own, other], Fiber.interrupt)
    }).pipe(Effect.provide(layerWith({ deadline: "1 hour" }))))

  it.live("are refused if many of all organizations wait, and free their places when interrupted", () =>
    Effect.gen(function* () {
      const fibers = yield* Effect.forEach(Array.from({ length: 64 }, (_, i) => `org${i}`), (org) => started(org, hang))
      const busy = yield* Effect.flip(Checking.use((checking) => checking.run("late", "mapping", hang)))
      assert.strictEqual(busy._tag, "ChecksBusy")
      yield* Effect.forEach(fibers, Fiber.interrupt)
      assert.isAbove(yield* pid, 0)
    }).pipe(Effect.provide(layerWith({ deadline: "1 hour" }))))

  it.live("alternate between organizations", () =>
    Effect.gen(function* () {
      const checking = yield* Checking
      const order: Array<string> = []
      const ask = (org: string, name: string) =>
        Effect.forkChild(
          Effect.tap(
            checking.run(org, "mapping", { ...hang, mapping: name }),
            () => Effect.sync(() => order.push(name)),
          ),
          { startImmediately: true },
        )
      const fibers = [
        ...yield* Effect.forEach(["a1", "a2", "a3", "a4"], (name) => ask("a", name)),
        yield* ask("b", "b1"),
      ]
      yield* Effect.forEach(fibers, Fiber.join)
      assert.isBelow(order.indexOf("b1"), order.indexOf("a3"), order.join())
    }).pipe(Effect.provide(layer)))
})
