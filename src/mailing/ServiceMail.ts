import { Context, Duration, Effect, Layer, Metric, Option, Random, Redacted, Schedule, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { ForgottenPasswords } from "../accounts/ForgottenPasswords.ts"
import { AddressGuard } from "../settings/AddressGuard.ts"
import { retryPause, storable } from "../delivery/AttemptOutcome.ts"
import { Composer } from "../delivery/Composer.ts"
import type { Connection, SendResult, TestResult } from "../delivery/Connection.ts"
import * as Smtp from "../delivery/connections/Smtp.ts"
import type { MailServer } from "../settings/MailServer.ts"
import type { Letter } from "../mail/Letters.ts"
import { type DueMail, mailKinds, MailQueue } from "../mail/MailQueue.ts"
import { Settings } from "../settings/Settings.ts"
import { asJob } from "../telemetry/LoopWork.ts"

/** Number of mails that a node sends concurrently. Each uses its own SMTP session. */
const atOnce = 3

/** A mail is given up this long after it was queued. Unit: milliseconds. */
const horizonMillis = 24 * 3_600_000

/** The pause after the first failed attempt. */
const firstPause = Duration.seconds(10)

const outcomes = ["sent", "retried", "failed"] as const
/** Counts results of attempts to send the service's own mails. */
const attemptsOf = (kind: DueMail["kind"], outcome: typeof outcomes[number]) =>
  Metric.counter("parlance_service_mails_total", { incremental: true, attributes: { kind, outcome } })

/** The result of an attempt. */
type SendingOutcome =
  | { readonly _tag: "sent" }
  | { readonly _tag: "retried"; readonly delayMillis: number; readonly reason: string }
  | { readonly _tag: "failed"; readonly reason: string }

/** Decides the next state of a mail after an attempt. `jitter` is in [0, 1). */
export const outcomeOf = (
  result: SendResult,
  { ageMillis, attempts }: Pick<DueMail, "ageMillis" | "attempts">,
  jitter: number,
): SendingOutcome => {
  if (result._tag === "accepted") return { _tag: "sent" }
  const reason = storable(result.reason)
  const isFinal = result._tag === "refused" || result._tag === "unfit"
  if (isFinal || ageMillis >= horizonMillis) return { _tag: "failed", reason }
  const wait = "wait" in result && result.wait !== undefined ? Duration.toMillis(result.wait) : 0
  const pause = Math.max(retryPause(attempts + 1, firstPause, jitter), wait)
  return { _tag: "retried", reason, delayMillis: Math.min(pause, horizonMillis - ageMillis) }
}

/** Returns the message of a mail. */
const messageOf = (
  { attempts, createdAt, id, kind }: DueMail,
  { letter: { html, subject, text, unsubscribe }, to }: { readonly to: string; readonly letter: Letter },
) => ({
  id,
  org: "parlance",
  templateId: kind,
  copyId: "service",
  email: to,
  vars: { subject, text, html },
  formats: { html: "html" } as const,
  ...(unsubscribe === undefined ? {} : { unsubscribe: { url: unsubscribe, isListed: true } }),
  // Sets the header Auto-Submitted, so that programs do not reply.
  isTransactional: true,
  attempt: attempts + 1,
  queuedAt: createdAt.getTime(),
  firstAttemptAt: createdAt.getTime(),
})

/** The connection to a mail server. The operator of the installation chose its address, so any address is allowed. */
const connect = ({ authorities, from, host, login, port, tls }: MailServer) =>
  Smtp.make(
    {
      host,
      port,
      tls,
      from: from.email,
      sender_id: "parlance",
      connections: atOnce,
      ...(from.name === undefined ? {} : { from_name: from.name }),
      ...(authorities === undefined ? {} : { ca: authorities }),
      ...(login === undefined ? {} : { user: login.user }),
    },
    login === undefined ? {} : { password: Redacted.value(login.password) },
  ).pipe(Effect.provide(AddressGuard.layer(["0.0.0.0/0", "::/0"])), Effect.orDie)

/** Tests a mail server without sending a message. */
export const testMailServer = (server: MailServer): Effect.Effect<TestResult, never, Scope.Scope> =>
  Effect.flatMap(connect(server), ({ test }) => test).pipe(Effect.provide(Composer.layer))

/** Sends mails of the service itself. */
export class ServiceMail extends Context.Service<ServiceMail, {
  /** Sends due mails until no mail is due. Fails with `SqlError` if the database does not respond. */
  readonly drain: Effect.Effect<void, SqlError>
}>()("parlance/mailing/ServiceMail") {
  static readonly layer = Layer.effect(
    ServiceMail,
    Effect.gen(function* () {
      const { mail } = yield* Settings
      const queue = yield* MailQueue
      const forgotten = yield* ForgottenPasswords
      const counters = new Map(
        mailKinds.flatMap((kind) =>
          outcomes.map((outcome) => [`${kind} ${outcome}`, attemptsOf(kind, outcome)] as const)
        ),
      )
      // Initialises the counters to 0, so that alerts have a series from startup.
      for (const counter of counters.values()) yield* Metric.update(counter, 0)
      if (Option.isNone(mail)) return ServiceMail.of({ drain: Effect.void })
      const connection: Connection = yield* connect(mail.value)

      const letterOf = (due: DueMail) =>
        due.content === null
          ? forgotten.letterFor(due.recipient)
          : Effect.map(queue.open(due.id, due.content), (letter) => ({ to: due.recipient, letter }))

      /** Renews the lease of a mail while it is sent, because a server may take longer than the lease. */
      const kept = (id: string, sending: Effect.Effect<SendResult>): Effect.Effect<SendResult> =>
        Effect.raceFirst(
          sending,
          queue.keep(id).pipe(
            Effect.catch((error) => Effect.logDebug("The lease of a mail could not be renewed", error.message)),
            Effect.delay("1 minute"),
            Effect.forever,
          ),
        )

      /** Sends one mail. Returns the reason of a failed attempt that will be repeated. */
      const send = Effect.fnUntraced(function* (due: DueMail) {
        const { attempts, id, kind } = due
        const letter = yield* Effect.result(letterOf(due))
        if (letter._tag === "Success" && letter.success === undefined) return void (yield* queue.sent(id))
        const result: SendResult = letter._tag === "Success"
          ? yield* kept(id, connection.send(messageOf(due, letter.success!)))
          : { _tag: "broken", reason: letter.failure.message }
        const outcome = outcomeOf(result, due, yield* Random.next)
        yield* Metric.update(counters.get(`${kind} ${outcome._tag}`)!, 1)
        if (outcome._tag === "sent") yield* queue.sent(id)
        else if (outcome._tag === "retried") yield* queue.again(id, outcome.delayMillis, outcome.reason)
        else {
          yield* queue.giveUp(id, outcome.reason)
          yield* Effect.logError("A mail was given up", { kind, mail: id, attempts: attempts + 1 }, outcome.reason)
        }
        return outcome._tag === "retried" ? outcome.reason : undefined
      })

      const drain = Effect.gen(function* () {
        const reasons: Array<string> = []
        while (true) {
          const due = yield* queue.take(atOnce)
          if (due.length === 0) break
          const some = yield* Effect.forEach(due, send, { concurrency: "unbounded" })
          reasons.push(...some.filter((reason) => reason !== undefined))
        }
        // Logs one line for an outage of the mail server, regardless of the number of mails.
        if (reasons.length > 0) {
          yield* Effect.logWarning("Mails could not be sent and will be retried", { mails: reasons.length }, reasons[0])
        }
      }).pipe(Effect.withSpan("ServiceMail.drain"))

      return ServiceMail.of({ drain })
    }),
  ).pipe(Layer.provide(Composer.layer))

  /** Sends mails as they are queued, on every node with a mail server. */
  static readonly layerRunning = Layer.effectDiscard(Effect.gen(function* () {
    const { drain } = yield* ServiceMail
    const { isOn, prune } = yield* MailQueue
    if (!isOn) return
    yield* drain.pipe(
      asJob("service mail"),
      Effect.catchCause((cause) => Effect.logWarning("Mails could not be sent and will be retried", cause)),
      Effect.repeat(Schedule.spaced("1 second")),
      Effect.forkScoped,
    )
    yield* prune.pipe(
      Effect.catchCause((cause) => Effect.logDebug("Mails that were given up could not be deleted", cause)),
      Effect.repeat(Schedule.spaced("1 hour")),
      Effect.forkScoped,
    )
  }))
}
