import { Context, type Duration, Effect, Layer, Metric, Queue } from "effect"
import { performance } from "node:perf_hooks"
import process from "node:process"
import { getHeapStatistics } from "node:v8"
import { known, nameOf, type Suspect, suspectsOf } from "./LoopWork.ts"
import { unref } from "../runtime/unref.ts"

/** Interval at which the event loop is checked. Unit: milliseconds. */
const tickMillis = 50

/** Delay of a check from which a hold is reported. Unit: milliseconds. */
const heldMillis = 100

/** Maximum number of pieces of work named in one log entry. */
const namedWork = 5

/** Duration of event loop iterations over 100 ms, in which no request is served. Unit: seconds. */
const held = Metric.histogram("parlance_event_loop_held_seconds", { boundaries: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] })

/** A period in which the event loop was blocked. Unit of times: milliseconds. */
export interface Hold {
  readonly millis: number
  /** Processor time of all threads of the process in this period. */
  readonly processorMillis: number
  /** Bytes by which the heap shrank. */
  readonly freedBytes: number
  readonly suspects: ReadonlyArray<Suspect>
}

/** Decrease of the heap that shows a full garbage collection. Unit: bytes. */
const collectedBytes = 16 * 1024 * 1024

/** Returns the likely cause of a hold, for the log. */
export const causeOf = ({ freedBytes, millis, processorMillis, suspects }: Hold): string => {
  if (processorMillis < millis / 4) {
    return "The process hardly ran meanwhile: the machine was busy or suspended, or a file was slow"
  }
  const isLikely = suspects.some(({ isLikely }) => isLikely)
  if (freedBytes >= collectedBytes) {
    const freed = `A garbage collection freed ${Math.round(freedBytes / 1024 / 1024)} MiB meanwhile`
    return isLikely ? `${freed}; it or the first work listed` : `${freed}; it is the likely cause`
  }
  if (suspects.length === 0) return "No request or known job was in work; a timer or a garbage collection"
  return isLikely ? "The first work listed is the likely one" : "One of the work listed"
}

/** Returns the fields of the log entry of a hold. */
export const fieldsOf = (hold: Hold) => ({
  held_ms: Math.round(hold.millis),
  processor_ms: Math.round(hold.processorMillis),
  reason: causeOf(hold),
  work: hold.suspects.slice(0, namedWork).map(({ work }) => {
    const { org, requestId, work: name } = nameOf(work)
    return { work: name, ...(org === undefined ? {} : { org }), ...(requestId === undefined ? {} : { requestId }) }
  }),
})

/**
 * Measures and counts event loop iterations of more than 100 ms. Logs the latest one with the work in progress after each
 * `pause`, the first time after one `pause`, so that no warning follows the greeting of the first start.
 */
export const layerEvery = (pause: Duration.Input) =>
  Layer.effectDiscard(Effect.gen(function* () {
    // Exported from the start, because an alert on a histogram that does not exist yet never fires.
    yield* Metric.value(held)
    const holds = yield* Queue.sliding<Hold>(1)
    let dueAt = performance.now() + tickMillis
    let checkedAt = performance.now()
    let processor = process.cpuUsage()
    let heap = getHeapStatistics().used_heap_size

    const check = () => {
      const now = performance.now()
      const late = now - dueAt
      const used = getHeapStatistics().used_heap_size
      const spent = process.cpuUsage(processor)
      if (late >= heldMillis) {
        held.updateUnsafe(late / 1000, Context.empty())
        Queue.offerUnsafe(holds, {
          millis: late,
          processorMillis: (spent.user + spent.system) / 1000,
          freedBytes: heap - used,
          suspects: suspectsOf(known(), checkedAt, now),
        })
      }
      heap = used
      processor = process.cpuUsage()
      checkedAt = now
      dueAt = now + tickMillis
    }
    const timer: unknown = setInterval(check, tickMillis)
    unref(timer)
    yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(timer as Parameters<typeof clearInterval>[0])))

    const log = Effect.gen(function* () {
      yield* Effect.sleep(pause)
      const hold = yield* Queue.take(holds)
      yield* Effect.logWarning(`The event loop was held for ${Math.round(hold.millis)} ms`, fieldsOf(hold))
    })
    yield* Effect.forkScoped(Effect.forever(log))
  }))

/** Logs at most one warning a minute. */
export const layer = layerEvery("1 minute")
