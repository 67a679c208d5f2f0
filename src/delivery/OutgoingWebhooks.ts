import { Clock, Duration, Effect, Layer, Random, Redacted, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { SecretBox } from "../store/SecretBox.ts"
import { asJob } from "../telemetry/LoopWork.ts"
import { BatchBodies } from "../webhooks/BatchBodies.ts"
import type { BatchedType } from "../webhooks/BatchTypes.ts"
import { purposeOf, type WebhookAttempt } from "../webhooks/WebhookEndpoints.ts"
import { type Due, type Outcome, recordAttempt, takeDue } from "../webhooks/OutgoingQueue.ts"
import { retryPause } from "./AttemptOutcome.ts"
import { excerpt } from "./connections/Answers.ts"
import { signed } from "./connections/Webhook.ts"
import * as OutboundHttp from "./OutboundHttp.ts"

/** Maximum number of events that a node sends at a time. */
const atOnce = 25

/** The pause after the first failed attempt. */
const firstPause = Duration.seconds(5)

/** An event that has failed for this long is given up. Unit: milliseconds. */
const horizonMillis = 28 * 3_600_000

/** Decides whether an event is repeated after a failed attempt, and when. `jitter` is in [0, 1). */
export const afterFailure = (attempts: number, failingMillis: number, jitter: number): Outcome =>
  failingMillis >= horizonMillis ? { _tag: "failed" } : {
    _tag: "again",
    delayMillis: Math.min(retryPause(attempts + 1, firstPause, jitter), horizonMillis - failingMillis),
  }

/**
 * Returns the headers of an event, with one signature for each currently valid secret, separated by spaces as in
 * Standard Webhooks.
 */
export const signedBy = (
  secrets: ReadonlyArray<string>,
  id: string,
  body: string,
  now: number,
): Readonly<Record<string, string>> => {
  const each = secrets.map((secret) => signed(secret, id, body, now))
  return { ...each[0]!, "webhook-signature": each.map((headers) => headers["webhook-signature"]).join(" ") }
}

interface Result {
  readonly status: number | null
  readonly reason: string | null
}

/**
 * Returns an effect that sends due events until no event is due, and fails with `SqlError` if the database does not
 * respond.
 */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const box = yield* SecretBox
  const bodyOf = yield* BatchBodies
  const http = yield* OutboundHttp.make

  const exchange = Effect.fnUntraced(function* (due: Due) {
    const now = yield* Clock.currentTimeMillis
    const secrets = yield* Effect.forEach(
      due.secrets.filter(({ until }) => until === null || Date.parse(until) > now),
      ({ sealed }) => Effect.map(box.open(purposeOf(due.orgSlug, due.endpointId), sealed), Redacted.value),
    )
    const body = due.body ?? (yield* bodyOf({ ...due, type: due.type as BatchedType, batch: due.batch! }))
    const headers = signedBy(secrets, due.id, body, now)
    const answer = yield* http.request({ method: "POST", url: new URL(due.url), headers, body })
    const isTaken = answer.status >= 200 && answer.status <= 299
    return {
      status: answer.status,
      reason: isTaken ? null : `It answered ${answer.status}: ${excerpt(answer.body, secrets)}`,
    }
  })

  const send = Effect.fnUntraced(function* (due: Due): Effect.fn.Return<void, SqlError> {
    const began = yield* Clock.currentTimeMillis
    const failed = (reason: string): Effect.Effect<Result> => Effect.succeed({ status: null, reason })
    const result: Result = yield* exchange(due).pipe(
      Effect.catchTags({
        NoAnswer: ({ detail }) => failed(detail),
        SecretUnreadable: ({ message }) => failed(message),
        SecretFileFaulty: ({ message }) => failed(message),
      }),
    )
    const now = yield* Clock.currentTimeMillis
    const attempt: WebhookAttempt = { at: new Date(began).toISOString(), ...result, milliseconds: now - began }
    const isGone = result.status === 410
    const outcome: Outcome = result.reason === null
      ? { _tag: "delivered" }
      : isGone
      ? { _tag: "failed" }
      : afterFailure(due.attempts, due.failingMillis, yield* Random.next)
    yield* recordAttempt(sql, due, attempt, outcome, isGone)
  })

  /** Sends due events until no event is due. */
  const drain: Effect.Effect<void, SqlError> = Effect.suspend(() =>
    Effect.flatMap(takeDue(sql, atOnce), (due) =>
      due.length === 0 ? Effect.void : Effect.andThen(
        Effect.forEach(due, send, { concurrency: "unbounded", discard: true }),
        drain,
      ))
  )
  return drain
})

/** Sends events to the webhook endpoints of organizations. Runs on every node. */
export const layerRunning = Layer.effectDiscard(
  Effect.flatMap(make, (drain) =>
    drain.pipe(
      asJob("outgoing webhooks"),
      Effect.catchCause((cause) =>
        Effect.logWarning("Events for webhook endpoints could not be sent and will be retried", cause)
      ),
      Effect.repeat(Schedule.spaced("1 second")),
      Effect.forkScoped,
    )),
)
