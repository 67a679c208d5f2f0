// Measures the cost of telemetry for a request without tracing: the counters of its response, and its steps.
//
//     deno task bench telemetry 2> /dev/null
import { Context, Effect, Exit, Layer, Scope, Tracer } from "effect"
import { randomUUID } from "node:crypto"
import { measure } from "../src/api/http/RequestMetrics.ts"
import * as AccessLog from "../src/telemetry/AccessLog.ts"
import { onlyBegun, step } from "../src/telemetry/Tracing.ts"

const rounds = 300_000

const requestId = randomUUID()

/** Returns the time of one round of `effect`: the minimum of five measurements. Unit: nanoseconds. */
const nanosOf = async (effect: Effect.Effect<unknown>, layer: Layer.Layer<never>): Promise<number> => {
  let best = Infinity
  for (let i = 0; i < 5; i++) {
    const all = Effect.gen(function* () {
      for (let n = 0; n < rounds; n++) yield* effect
    })
    const begun = performance.now()
    await Effect.runPromise(Effect.provide(all, layer))
    best = Math.min(best, (performance.now() - begun) * 1e6 / rounds)
  }
  return best
}

const none = Layer.empty
const exporting = Layer.succeed(
  Tracer.Tracer,
  onlyBegun(Tracer.make({ span: (options) => new Tracer.NativeSpan(options) })),
)
const work = Effect.sync(() => Context.empty())
const threeSteps = step("auth")(step("decide")(step("commit")(work)))

/** Measures the access log, including the write of a line to standard error. */
const scope = Scope.makeUnsafe()
const access = await Effect.runPromise(
  Effect.provideService(AccessLog.make((lines) => console.error(lines), false), Scope.Scope, scope),
)
const logged = Effect.sync(() =>
  access({ method: "POST", route: "/api/generate/:org", status: 200, millis: 3, org: "acme", requestId })
)

const baseline = await nanosOf(work, none)
const rows: ReadonlyArray<readonly [string, number]> = [
  ["counting an answer and its time", await nanosOf(Effect.sync(() => measure("generate", 200, 3)), none)],
  ["a line of the access log", await nanosOf(logged, none)],
  ["three steps, nothing exported", await nanosOf(threeSteps, none)],
  ["three steps, exported, not traced", await nanosOf(threeSteps, exporting)],
  [
    "three steps, traced",
    await nanosOf(Effect.withSpan(threeSteps, "request", { root: true }), exporting),
  ],
]
console.log(`An effect that does nothing takes ${baseline.toFixed(0)} ns. More than that, per request:`)
for (const [what, nanos] of rows) {
  const more = Math.max(0, nanos - baseline)
  console.log(`  ${what.padEnd(36)} ${more.toFixed(0).padStart(6)} ns ${(nanos / baseline).toFixed(1).padStart(7)} ×`)
}
await Effect.runPromise(Scope.close(scope, Exit.void))
