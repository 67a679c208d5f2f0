// What telemetry adds to a request that nobody traces: the counters of its answer, and its steps.
//
//     deno task bench telemetry
import { Context, Effect, Layer, Tracer } from "effect"
import { measure } from "../src/api/server/RequestMetrics.ts"
import { onlyBegun, step } from "../src/telemetry/Tracing.ts"

const rounds = 300_000

/** Nanoseconds of one round of `effect`, the best of five. */
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

const baseline = await nanosOf(work, none)
const rows: ReadonlyArray<readonly [string, number]> = [
  ["counting an answer and its time", await nanosOf(Effect.sync(() => measure("generate", 200, 3)), none)],
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
