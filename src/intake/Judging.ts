import { Clock, Context, type Duration, Effect, Layer, Schema } from "effect"
import type { OrgSlug } from "../domain/Ids.ts"
import { LruMap } from "../json/LruMap.ts"
import * as Turns from "../store/Turns.ts"
import { isByMachine, workerProcess, type WorkFailed } from "../store/WorkerProcess.ts"
import { tooMuchWork } from "./mapping/Mapping.ts"
import type { Normalize } from "./Normalize.ts"
import { defaultReading, normalizeBeside, type Reading } from "./Sources.ts"
import { judge, type Judged } from "./Verdicts.ts"
import { type KeyedReading, WebhookSources } from "./WebhookSources.ts"

/** Too many large bodies are queued to be checked. */
class JudgingBusy extends Schema.TaggedError<JudgingBusy>()("JudgingBusy", {}) {
  override get message() {
    return "Too many large bodies are being read at this time. Send the request again in a few seconds"
  }
}

/** A body, and how to read it. */
export interface JudgeRequest {
  readonly body: Uint8Array
  readonly headers: Readonly<Record<string, string>>
  readonly receivedAt: number
  readonly reading: Reading
}

/**
 * Bodies up to this size are checked in the service's own process, in about 2 ms. Larger bodies are checked in a worker
 * process. Unit: bytes.
 */
const maxBeside = 64 * 1024

/** Limit of the processor time for one body. */
const deadline: Duration.Input = "5 seconds"

/** Heap limit of the process. A body of 8 MiB with 10,000 events needs 60. Unit: MiB. */
const maxHeapMiB = 96

/** Maximum number of large bodies in memory, of one organization and in total, and maximum wait of a body. */
const maxWaitingOfOne = 4
const maxWaiting = 12
const maxWait: Duration.Input = "10 seconds"

/** Maximum time that a body waits for the process to start. The start continues after that. */
const startPatience: Duration.Input = "30 seconds"

/** Maximum number of compiled settings that are kept. */
const maxCompiled = 1_000

const stoppedReason = ({ detail, reason }: WorkFailed): string =>
  reason === "deadline"
    ? `${detail} to read: send fewer events in one request`
    : "cannot be read in the memory there is for one body: send fewer events in one request"

/**
 * Checks bodies of custom events before they are stored, with the code that reads them later. A large body is read in a
 * process with a deadline, so that it does not delay other requests.
 */
export class Judging extends Context.Service<Judging, {
  /**
   * Checks a body. Returns a reason if the body cannot be read. Fails with `JudgingBusy` if too many large bodies are
   * queued.
   */
  readonly judge: (
    org: OrgSlug,
    body: Uint8Array,
    headers: Readonly<Record<string, string>>,
  ) => Effect.Effect<Judged, JudgingBusy>
}>()("parlance/intake/Judging") {
  static readonly layer = Layer.effect(
    Judging,
    Effect.gen(function* () {
      const sources = yield* WebhookSources
      const clock = yield* Clock.Clock
      const process = yield* workerProcess<JudgeRequest, Judged>({
        program: new URL("./judge.process.ts", import.meta.url),
        purpose: "judges webhook bodies",
        deadline,
        patience: startPatience,
        idle: "10 minutes",
        maxHeapMiB,
      })
      const inTurn = yield* Turns.make({ maxWaiting, maxWaitingOfOne, maxWait, busy: () => new JudgingBusy() })
      const compiled = new LruMap<Normalize>(maxCompiled)

      const beside = (keyed: KeyedReading | undefined): Normalize => {
        const key = keyed?.key ?? ""
        const found = compiled.get(key)
        if (found !== undefined) return found
        const normalize = normalizeBeside(keyed?.reading ?? defaultReading)
        compiled.set(key, normalize)
        return normalize
      }

      const inProcess = (org: string, request: JudgeRequest): Effect.Effect<Judged, JudgingBusy> =>
        inTurn(org, process.ask(request)).pipe(
          Effect.catchTag(
            "WorkFailed",
            (failed): Effect.Effect<Judged, JudgingBusy> =>
              isByMachine(failed) || failed.reason === "threw"
                ? Effect.andThen(
                  Effect.logWarning("A webhook body could not be checked", failed.detail),
                  new JudgingBusy(),
                )
                : Effect.succeed({ reason: `The body ${stoppedReason(failed)}` }),
          ),
        )

      return Judging.of({
        judge: Effect.fn("Judging.judge")(function* (org, body, headers) {
          const keyed = sources.reading(org, "events")
          const receivedAt = clock.currentTimeMillisUnsafe()
          if (body.byteLength <= maxBeside) {
            const judged = judge(beside(keyed), body, headers, receivedAt)
            if (!("reason" in judged) || judged !== tooMuchWork) return judged
          }
          return yield* inProcess(org, { body, headers, receivedAt, reading: keyed?.reading ?? defaultReading })
        }),
      })
    }),
  )
}
