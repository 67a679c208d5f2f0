import {
  Cause,
  Clock,
  Duration,
  Effect,
  Exit,
  type Fiber,
  FiberHandle,
  FiberSet,
  Latch,
  Metric,
  Queue,
  Random,
  Scope,
  Semaphore,
} from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug } from "../domain/Ids.ts"
import type { Settings } from "../settings/Settings.ts"
import { asJob } from "../telemetry/LoopWork.ts"
import { spanNamed, stepOf } from "../telemetry/Tracing.ts"
import type { AnswerValidity } from "./AnswerValidity.ts"
import type { CircuitBreaker } from "./CircuitBreaker.ts"
import type { Connection, SendResult } from "./Connection.ts"
import { retry } from "./connections/Answers.ts"
import type { ActiveConnection, Connections, ConnectionTrouble } from "./Connections.ts"
import { next } from "./LaneLoop.ts"
import { type LaneCommand, type LaneInput, type LaneSettings, start, wakeAt } from "./LaneState.ts"
import { MayBegin } from "./MayBegin.ts"
import type { Lane } from "./LaneLeases.ts"
import type { Claimed, Outbox, Settled } from "./Outbox.ts"
import { type CheckAnswer, SuppressionChecks } from "./SuppressionChecks.ts"
import { cancelledText } from "../suppressions/Suppression.ts"

/** Results of the attempts of this process. */
const sent = Metric.counter("parlance_deliveries_sent_total", { incremental: true })
/** Counts the messages that this process gave up. */
export const failed = Metric.counter("parlance_deliveries_failed_total", { incremental: true })
const repeated = Metric.counter("parlance_deliveries_retried_total", { incremental: true })

/** Initialises the counters to 0, so that ratios exist before the first result. */
export const showCounters = Effect.forEach([sent, failed, repeated], (counter) => Metric.update(counter, 0), {
  discard: true,
})

/** Counts the outcome of an attempt. */
const count = (settled: Settled) => {
  switch (settled._tag) {
    case "sent":
      return Metric.update(sent, 1)
    case "failed":
      return Metric.update(failed, 1)
    default:
      return settled._tag === "again" && settled.burned ? Metric.update(repeated, 1) : Effect.void
  }
}

/**
 * Timeout of composing one message, with a margin; and default timeout of the platform's answer. Unit: milliseconds.
 */
const composeMillis = 45_000
const answerMillis = 30_000

/** Interval of the check for attempts that exceed their timeout. */
const overdueEvery = Duration.seconds(5)

/** Services of the process that a lane uses. */
export interface Surroundings {
  readonly outbox: Outbox["Service"]
  readonly connections: Connections["Service"]
  readonly settings: Pick<
    Settings["Service"],
    | "deliveryRate"
    | "deliveryAttempts"
    | "deliveryRetryDelay"
    | "deliveryRetryHorizon"
    | "deliveryRecipientRetryHorizon"
    | "shutdownTimeout"
  >
  readonly answers: AnswerValidity["Service"]
}

/**
 * Sends the due messages of one organization while this process holds the lane's lease and there are messages.
 *
 *     claim ──► sessions by domain ──► rate limiter ──► suppressed, expired? ──► send concurrently ──► settle in groups
 *
 * `DomainSessions` decides the order. Accepted messages are recorded at once. If recording fails, no other message is
 * sent until it succeeds. `due` wakes the lane after a message was queued on this node.
 *
 * `LaneLoop.ts` contains all decisions. This function executes its commands and passes their results back as inputs.
 */
export const run = Effect.fn("Lane.run")(function* (org: OrgSlug, due: Latch.Latch, surroundings: Surroundings) {
  const { answers: { owner }, connections, outbox, settings } = surroundings
  const clock = yield* Clock.Clock
  const monotonic = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  const askedAt = monotonic()
  const lane = yield* outbox.take(org, owner)
  if (lane === undefined) return
  if (lane.failed > 0) yield* Metric.update(failed, lane.failed)

  const inputs = yield* Queue.unbounded<LaneInput>()
  const offer = (input: LaneInput) => void Queue.offerUnsafe(inputs, input)
  const laneConnection = yield* makeLaneConnection(org, connections)
  let state = start(laneSettings(settings), lane, askedAt, monotonic())
  const isHeld = () => !state.isLost && monotonic() < state.heldUntil
  const execute = yield* makeExecutor(lane, laneConnection, surroundings, offer, monotonic, isHeld)
  const alarm = yield* makeAlarm(() => offer({ _tag: "woken" }), monotonic)

  const step = (input: LaneInput) =>
    Effect.suspend(() => {
      // Ignores inputs that were read together with the last input of the lane.
      if (state.phase._tag === "ended") return Effect.void
      const moment = { millis: monotonic(), active: connections.active(org), granted: laneConnection.granted() }
      const [after, commands] = next(state, input, moment)
      state = after
      // Executing has already begun most commands; these are the remaining effects.
      const rest = commands.map(execute).filter((effect) => effect !== undefined)
      const alarmed = alarm(wakeAt(state))
      return rest.length === 0 ? alarmed : Effect.andThen(Effect.all(rest, { discard: true }), alarmed)
    })
  const untilEnded = Effect.whileLoop({
    while: () => state.phase._tag !== "ended",
    // An interruption must not lose inputs that were already removed from the queue.
    body: () =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(restore(Queue.takeAll(inputs)), (all) => Effect.forEach(all, step, { discard: true }))
      ),
    step: () => {},
  })
  // A process that shuts down awaits attempts in progress.
  yield* Effect.addFinalizer(() => {
    offer({ _tag: "stop" })
    return untilEnded
  })
  yield* due.await.pipe(
    Effect.andThen(Effect.sync(() => {
      due.closeUnsafe()
      offer({ _tag: "due" })
    })),
    Effect.forever,
    Effect.forkScoped,
  )
  offer({ _tag: "woken" })
  yield* untilEnded
  if (state.failure !== undefined) yield* Effect.failCause(state.failure)
}, Effect.scoped)

const laneSettings = (settings: Surroundings["settings"]): LaneSettings => ({
  rate: settings.deliveryRate,
  retries: {
    attempts: settings.deliveryAttempts,
    firstPause: settings.deliveryRetryDelay,
    horizon: settings.deliveryRetryHorizon,
    recipientHorizon: settings.deliveryRecipientRetryHorizon,
  },
  shutdownMillis: Duration.toMillis(settings.shutdownTimeout),
})

/**
 * Returns a timer that calls `ring` at the earliest requested time, or earlier. Requested times are milliseconds of the
 * monotonic clock.
 */
const makeAlarm = Effect.fnUntraced(function* (ring: () => void, monotonic: () => number) {
  const handle = yield* FiberHandle.make<void>()
  let setTo = Infinity
  return (at: number) => {
    // An early call is cheaper than a new timer for each step.
    if (at >= setTo) return Effect.void
    setTo = at
    const ringing = Effect.sync(() => {
      setTo = Infinity
      ring()
    })
    return FiberHandle.run(handle, Effect.delay(ringing, Duration.millis(Math.max(0, at - monotonic()))))
  }
})

/**
 * Returns the executor of a lane's commands. It begins a command, or returns the command's effect. Commands that take
 * time offer their results as inputs.
 */
const makeExecutor = Effect.fnUntraced(function* (
  lane: Lane,
  laneConnection: LaneConnection,
  { answers, connections, outbox, settings }: Surroundings,
  offer: (input: LaneInput) => void,
  monotonic: () => number,
  isHeld: () => boolean,
) {
  const { org } = lane
  const clock = yield* Clock.Clock
  /** Aborted when another message needs the session of this attempt. */
  const giveUps = new Map<number, AbortController>()
  const notes = yield* FiberSet.make<void>()
  const oneByOne = Semaphore.makeUnsafe(1).withPermit
  yield* Effect.addFinalizer(() => Effect.timeoutOption(FiberSet.awaitEmpty(notes), settings.shutdownTimeout))
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  /** Offers the query's result as an input, or `failed` if the query fails. */
  const ask = <A>(query: Effect.Effect<A, SqlError>, onSuccess: (value: A) => LaneInput) =>
    orElse(query, onSuccess, (cause) => ({ _tag: "failed", cause }))
  const orElse = <A, E>(
    query: Effect.Effect<A, E>,
    onSuccess: (value: A) => LaneInput,
    onFailure: (cause: Cause.Cause<E>) => LaneInput,
  ): undefined => {
    fork(Effect.matchCause(query, {
      onSuccess: (value) => offer(onSuccess(value)),
      onFailure: (cause) => offer(onFailure(cause)),
    }))
  }

  const checks = new SuppressionChecks(
    (messages, onAnswer) => {
      fork(Effect.matchCause(asJob("delivery", org)(outbox.suppressionsOf(messages)), {
        onSuccess: onAnswer,
        onFailure: () => onAnswer(undefined),
      }))
    },
    monotonic,
    () => answers.epochOf(org),
  )

  /** Attempts in progress, by flight number. */
  const attempts = new Map<number, { readonly fiber: Fiber.Fiber<void>; readonly endsAt: number }>()
  // One timer serves all attempts, because attempts rarely exceed their timeout.
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(
    Effect.sleep(overdueEvery),
    Effect.sync(() => {
      for (const { endsAt, fiber } of attempts.values()) {
        if (monotonic() >= endsAt) fiber.interruptUnsafe()
      }
    }),
  )))

  return (command: LaneCommand): Effect.Effect<void> | undefined => {
    switch (command._tag) {
      case "renew":
        return orElse(
          Effect.tapError(
            outbox.renew(lane, command.sentPerSecond),
            (error) => Effect.logDebug("The lease of a lane could not be renewed", error.message),
          ),
          (isHeld) => ({ _tag: "renewed", isHeld }),
          () => ({ _tag: "notRenewed" }),
        )
      case "claim":
        return ask(
          outbox.claim(lane, command.limit, command.isBusy, command.choice),
          (messages) => {
            const { prepare } = laneConnection.connection()
            if (prepare !== undefined && messages.length > 0) fork(prepare(messages))
            return { _tag: "claimed", messages }
          },
        )
      case "giveBack":
        return ask(outbox.giveBack(lane, command.ids), () => ({ _tag: "gaveBack" }))
      case "refuse":
        return ask(
          connections.refuse(org, command.active, command.reason),
          (isRefusing) => ({ _tag: "refused", isRefusing }),
        )
      case "release":
        return ask(outbox.release(lane), () => ({ _tag: "released" }))
      case "record": {
        const { afterMillis, brake, settled } = command
        const record = Effect.suspend(() => outbox.settle(lane, settled, brake))
        return orElse(
          afterMillis === 0 ? record : Effect.delay(record, Duration.millis(afterMillis)),
          () => ({ _tag: "recorded" }),
          (cause) => ({ _tag: "notRecorded", cause }),
        )
      }
      case "open":
        return ask(laneConnection.open(command.active), (input) => input)
      case "check": {
        const { ahead, flight, message } = command
        giveUps.set(flight, new AbortController())
        checks.check(message, ahead, (answer) => offer({ ...answer, flight }))
        return undefined
      }
      case "attempt": {
        const { flight, message, platform } = command
        const connection = laneConnection.connection()
        const endsAt = monotonic() + composeMillis + (connection.answerMillis ?? answerMillis)
        const gate = new Gate(message, checks, isHeld)
        const sending = attempt(connection, message, platform, giveUps.get(flight)!.signal, gate)
        const fiber = fork(Effect.matchCause(asJob("delivery", org)(sending), {
          onSuccess: (answer) => offer({ _tag: "answered", flight, ...answer }),
          onFailure: () => {
            const result = unanswered(monotonic() >= endsAt ? "No answer in time" : "The attempt was broken off")
            offer({ _tag: "answered", flight, result, jitter: 0 })
          },
        }))
        // The attempt may have ended synchronously.
        if (fiber.pollUnsafe() === undefined) attempts.set(flight, { fiber, endsAt })
        return undefined
      }
      case "giveUp":
        giveUps.get(command.flight)!.abort()
        return undefined
      case "leave":
        laneConnection.connection().leave?.()
        return undefined
      case "arrive":
        giveUps.delete(command.flight)
        attempts.delete(command.flight)
        return count(command.settled)
      case "note": {
        const trouble = troubleOf(command.breaker, clock.currentTimeMillisUnsafe() - monotonic())
        return Effect.asVoid(FiberSet.run(notes, oneByOne(connections.note(org, command.connection, trouble))))
      }
      case "warn":
        return Effect.logWarning(command.text, messageOf(command.cause))
    }
  }
})

type LaneConnection = Effect.Success<ReturnType<typeof makeLaneConnection>>

/** Opens the connection of a lane, and closes the previous connection. */
const makeLaneConnection = Effect.fnUntraced(function* (org: OrgSlug, connections: Connections["Service"]) {
  let opened: { readonly connection: Connection; readonly scope: Scope.Closeable } | undefined
  const close = Effect.suspend(() => {
    const scope = opened?.scope
    opened = undefined
    return scope === undefined ? Effect.void : Scope.close(scope, Exit.void)
  })
  yield* Effect.addFinalizer(() => close)
  const open = Effect.fnUntraced(function* (active: ActiveConnection): Effect.fn.Return<LaneInput> {
    yield* close
    const scope = yield* Scope.make()
    const result = yield* Effect.result(Scope.provide(connections.open(org, active.name), scope))
    if (result._tag === "Failure") {
      yield* Scope.close(scope, Exit.void)
      const reason = result.failure._tag === "NotOpened" ? result.failure.reason : "It has just been removed"
      return { _tag: "notOpened", reason }
    }
    const connection = result.success
    opened = { connection, scope }
    return { _tag: "opened", concurrency: connection.concurrency, domains: connection.domains }
  })
  return { open, connection: () => opened!.connection, granted: () => opened?.connection.granted?.() }
})

/** Permits a message to begin only while the lease is held and its recipient is not suppressed. */
class Gate {
  /** The result of an attempt that was not permitted to begin. */
  refusal: SendResult | undefined

  constructor(
    private readonly message: Claimed,
    private readonly checks: SuppressionChecks,
    private readonly isHeld: () => boolean,
  ) {}

  readonly mayBegin: MayBegin = (decide) => {
    this.refusal = undefined
    this.checks.begin(this.message, (answer) => {
      this.refusal = this.#refusalOf(answer)
      decide(this.refusal === undefined)
    })
  }

  #refusalOf(answer: CheckAnswer): SendResult | undefined {
    if (answer._tag === "notChecked") {
      return { _tag: "yielded", reason: "The suppression list could not be read in time", keepsPlace: true }
    }
    if (answer.found !== undefined) return { _tag: "yielded", reason: cancelledText(answer.found), isCancelled: true }
    return this.isHeld()
      ? undefined
      : { _tag: "yielded", reason: "The lease of the queue ended before the message was sent", keepsPlace: true }
  }
}

/** Sends a message. Every error becomes a result; only an interruption fails. */
const attempt = (connection: Connection, message: Claimed, platform: string, giveUp: AbortSignal, gate: Gate) =>
  connection.send(message, giveUp).pipe(
    Effect.provideService(MayBegin, gate.mayBegin),
    Effect.map((result) => result._tag === "yielded" ? gate.refusal ?? result : result),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : Effect.as(Effect.logError("A connection failed unexpectedly", cause), unanswered("An internal error"))
    ),
    inTrace(message, platform),
    Effect.flatMap((result) => Effect.map(Random.next, (jitter) => ({ result, jitter }))),
  )

/** Converts a breaker's trouble for people. `unixOffset` is Unix time minus monotonic time, in milliseconds. */
export const troubleOf = ({ silentUntil, trouble }: CircuitBreaker, unixOffset: number): ConnectionTrouble | null => {
  if (trouble === undefined) return null
  const text = (at: number) => new Date(Math.round(at + unixOffset)).toISOString()
  return { state: trouble.state, reason: trouble.reason, since: text(trouble.since), until: text(silentUntil) }
}

const messageOf = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  return error instanceof Error ? error.message : String(error)
}

/**
 * Adds an attempt to the trace of the Deliver request, on any node and at any later time. Results other than acceptance
 * are errors, named by kind. The span contains neither recipient nor content.
 */
const inTrace = ({ attempt, traceparent }: Claimed, platform: string) => (sending: Effect.Effect<SendResult>) => {
  const request = spanNamed(traceparent)
  if (request === undefined) return sending
  return sending.pipe(
    Effect.tap(({ _tag }) => Effect.annotateCurrentSpan("parlance.delivery.outcome", _tag)),
    Effect.flatMap((result) => result._tag === "accepted" ? Effect.succeed(result) : Effect.fail(result)),
    stepOf(request, `send ${platform}`, {
      kind: "client",
      attributes: {
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.system": platform,
        "parlance.delivery.attempt": attempt,
      },
    }),
    Effect.catch((result) => Effect.succeed(result)),
  )
}

const unanswered = (reason: string) => retry(reason, true)
