import { Context, type Duration, Effect, Layer, Semaphore } from "effect"
import { addedRefusals } from "../domain/refusals/Refusals.ts"
import { type WorkerProcess, workerProcess, WorkFailed } from "../store/WorkerProcess.ts"
import type { BodyChunk, BodyToRead, ReadAnswer, ReadRequest } from "./BodyReading.ts"
import type { Reading } from "./Sources.ts"

/** Lanes for reading bodies: small bodies in batches; large bodies, and bodies whose batch failed, one at a time. */
export type ReadingLane = "batches" | "singles"

/** Options of the body reader, which tests change. */
export interface BodyReaderOptions {
  /**
   * Limit of the processor time of one request, by lane. Default: 5 seconds for a batch, 10 seconds for a single body.
   */
  readonly deadline?: { readonly [lane in ReadingLane]?: Duration.Input }
  /** How long a process without requests is kept. Default: 10 minutes. A process needs about 100 MB. */
  readonly idle?: Duration.Input
  /** The module that the processes run. Default: `intake.process.ts`. */
  readonly program?: URL
}

/** Options of the body reader, which tests replace. Default: all defaults. */
export const ReaderOptions = Context.Reference<BodyReaderOptions>("parlance/intake/ReaderOptions", {
  defaultValue: () => ({}),
})

/** A body, and the settings needed to read it. */
export interface Readable extends Omit<BodyToRead, "reading"> {
  readonly reading: { readonly key: string; readonly reading: Reading } | undefined
}

const failed = (reason: WorkFailed["reason"], detail: string) => new WorkFailed({ reason, detail, note: undefined })

const deadlines = { batches: "5 seconds", singles: "10 seconds" } as const

/** Heap limit of a process. Ordinary bodies of 8 MiB need at most 56 MiB. */
const maxHeapMiB = 80

/**
 * Parses and normalizes received bodies in processes with a deadline, one process for each lane. A body that crashes
 * its process affects neither requests nor the other lane. A process starts with the first body and exits 10 minutes
 * after the last.
 */
export class BodyReader extends Context.Service<BodyReader, {
  /**
   * Reads bodies and returns their content in slices of about `sliceWeight` events. A lane serves one caller at a time.
   * Fails with `WorkFailed`, whose note is the id of the body being read, if the process exits or exceeds its deadline.
   */
  readonly read: (
    lane: ReadingLane,
    bodies: ReadonlyArray<Readable>,
    sliceWeight: number,
  ) => Effect.Effect<ReadonlyArray<ReadonlyArray<BodyChunk>>, WorkFailed>
}>()("parlance/intake/BodyReader") {
  static readonly layer = Layer.effect(
    BodyReader,
    Effect.gen(function* () {
      const { deadline = {}, idle = "10 minutes", program = new URL("./intake.process.ts", import.meta.url) } =
        yield* ReaderOptions
      const start = (lane: ReadingLane) =>
        workerProcess<ReadRequest, ReadAnswer>({
          program,
          purpose: "reads webhook bodies",
          deadline: deadline[lane] ?? deadlines[lane],
          idle,
          maxHeapMiB,
        })
      const processes: { readonly [lane in ReadingLane]: WorkerProcess<ReadRequest, ReadAnswer> } = {
        batches: yield* start("batches"),
        singles: yield* start("singles"),
      }

      const turns: { readonly [lane in ReadingLane]: Semaphore.Semaphore } = {
        batches: Semaphore.makeUnsafe(1),
        singles: Semaphore.makeUnsafe(1),
      }

      const read = Effect.fnUntraced(
        function* (lane: ReadingLane, bodies: ReadonlyArray<Readable>, sliceWeight: number) {
          const request = (readings: ReadonlyMap<string, Reading>): ReadRequest => ({
            type: "read",
            bodies: bodies.map((body) => ({ ...body, reading: body.reading?.key })),
            readings,
            sliceWeight,
            refusals: addedRefusals(),
          })
          let answer = yield* processes[lane].ask(request(new Map()))
          if (answer.type === "missing") {
            const missing = new Set(answer.readings)
            const readings = bodies.flatMap(({ reading }) =>
              reading !== undefined && missing.has(reading.key) ? [[reading.key, reading.reading] as const] : []
            )
            answer = yield* processes[lane].ask(request(new Map(readings)))
          }
          const slices: Array<ReadonlyArray<BodyChunk>> = []
          while (answer.type === "slice") {
            // A process that was restarted in the meantime has no content of these bodies.
            if (answer.chunks.length === 0) return yield* failed("ended", "The process ended before all was taken")
            slices.push(answer.chunks)
            if (answer.isLast) return slices
            answer = yield* processes[lane].ask({ type: "next" })
          }
          return yield* failed("threw", "Settings of a source are missing")
        },
        (effect, lane) => turns[lane].withPermits(1)(effect),
      )

      return BodyReader.of({ read })
    }),
  )
}
