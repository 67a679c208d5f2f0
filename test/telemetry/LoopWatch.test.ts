import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { performance } from "node:perf_hooks"
import { Gate } from "../../src/api/admission/LoadGate.ts"
import { make } from "../../src/api/admission/LoadShedding.ts"
import { RequestArrival } from "../../src/api/http/RequestArrival.ts"
import { discreet } from "../../src/telemetry/Discreet.ts"
import * as LoopWatch from "../../src/telemetry/LoopWatch.ts"
import { asJob } from "../../src/telemetry/LoopWork.ts"
import { waitUntil } from "../support/service.ts"

/** Computes for `millis`, without a turn of the loop. */
const hold = (millis: number) => {
  const until = performance.now() + millis
  while (performance.now() < until);
}

/** Runs `effect` under the watch; returns the entries that name the loop. */
const watched = <E>(effect: (entries: () => ReadonlyArray<string>) => Effect.Effect<void, E>) => {
  const lines: Array<string> = []
  const logger = Logger.layer([discreet(Logger.map(Logger.formatJson, (line) => void lines.push(line)))])
  return Effect.scoped(Effect.gen(function* () {
    yield* Layer.build(LoopWatch.layerEvery("1 millis"))
    yield* effect(() => lines.filter((line) => line.includes("The event loop was held")))
  })).pipe(Effect.provide(logger))
}

describe("the watch of the event loop", () => {
  it.live("reports the request that blocked it by route, organization and request id, without its content", () =>
    watched((entries) =>
      Effect.promise(async () => {
        const admit = make(new Gate(32))
        const request = new Request("http://x/api/generate/acme?user_id=ann%40example.com")
        await admit(new RequestArrival(request, "127.0.0.1", Infinity), () => {
          hold(400)
          return new Response("ok")
        })
        await waitUntil("it is logged", () => entries().some((line) => line.includes("GET /api/generate/:org")))
        const text = entries().join("\n")
        assert.include(text, "acme")
        assert.notInclude(text, "example.com")
      })
    ))

  it.live("reports the job that blocked it, and its duration", () =>
    watched((entries) =>
      Effect.gen(function* () {
        yield* asJob("nightly sums", "acme")(Effect.sync(() => hold(300)))
        yield* Effect.promise(() =>
          waitUntil("it is logged", () => entries().some((line) => line.includes("nightly sums")))
        )
        const metrics = yield* PrometheusMetrics.format()
        assert.match(metrics, /^parlance_event_loop_held_seconds_count [1-9]/m)
      })
    ))
})
