import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { risersOf } from "../../bench/support/Heap.ts"
import { soak, type SoakSample } from "../../bench/support/Soak.ts"
import { temporaryEnvironment } from "../support/stores.ts"

// `deno task bench soak` does the same for an hour, with pauses, memory and latency.

const intervalSeconds = 8
/** Generates a second: 2,400 in an interval, with 1,600 events, 80 messages and 16 reads. */
const rate = 300

/**
 * Smallest rise of a class, in objects for each interval, that counts as a leak. The background loops suspend some 16
 * times a second: a leak of one object for each suspension is 130 in an idle interval. Under load a leak of one object
 * for each event is 1,600. Caches and compiled code that still fill in the first minutes added up to 500 objects in
 * every interval.
 */
const least = { idle: 70, load: 1_000 }

/** Classes that the service's code makes; V8's own, such as compiled code, level off only after hours. */
const isOurs = (name: string) => /^(object|closure|array) /.test(name)

const risers = (samples: ReadonlyArray<SoakSample>, phase: SoakSample["phase"]) => {
  const censuses = samples.filter((sample) => sample.phase === phase).map(({ heap }) => heap)
  // Work that the warm-up began ends in the first idle interval.
  if (phase === "idle") censuses.shift()
  return risersOf(censuses, least[phase]).filter(({ name }) => isOurs(name))
}

describe("a long-running service", () => {
  it.live("keeps a constant number of objects, idle and under load", () =>
    Effect.scoped(Effect.gen(function* () {
      const environment = yield* temporaryEnvironment
      const samples = yield* Effect.promise(() => soak({ environment, intervalSeconds, idle: 4, loaded: 4, rate }))
      for (const { heap, load, minute, phase } of samples) {
        const asked = load === undefined ? "" : `, ${load.generate.requests} Generates`
        console.info(`soak: ${phase}, minute ${minute.toFixed(1)}: ${heap.objects} objects${asked}`)
      }
      assert.deepStrictEqual(risers(samples, "idle"), [])
      assert.deepStrictEqual(risers(samples, "load"), [])
      const generated = samples.flatMap(({ load }) => load === undefined ? [] : [load.generate.statuses])
      assert.deepStrictEqual([...new Set(generated.flatMap(Object.keys))], ["200"])
    })), 600_000)
})
