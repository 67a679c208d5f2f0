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
import type { Settings } from "../Settings.ts"
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
import type { Claimed, Lane, Outbox, Settled } from "./Outbox.ts"
import { type CheckAnswer, SuppressionChecks } from "./SuppressionChecks.ts"
import { cancelledText } from "../suppressions/Suppression.ts"

/** Messages sent by this process, by platform, and other results of attempts. */
const sent = Metric.counter("parlance_deliveries_sent_total", { incremental: true })
export const failed = Metric.counter("parlance_deliveries_failed_total", { incremental: true })
const repeated = Metric.counter("parlance_deliveries_retried_total", { incremental: true })

/** Initialises the counters to 0, so that ratios have a series from the start. */
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

/** Longest time to compose one message, with a margin, and for the answer unless the connection says otherwise. Unit: milliseconds. */
const composeMillis = 45_000
const answerMillis = 30_000

/** Between two searches for attempts that take longer. */
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
 * Sends due messages of one organization, for as long as this process holds its lane and there is something to do.
 *
 *     claim ──► sessions by domain ──► rate limiter (ceiling) ──► suppressed, expired? ──► send, several at once ──► settle, in groups
 *
 * Messages leave in the order of `DomainSessions`. Accepted messages are recorded at once; while that
 * fails, nothing further leaves. `due` wakes it when something was queued on this node.
 *
 * `LaneLoop.ts` decides everything; this executes its commands and passes the results back as inputs.
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
  const line = yield* makeLine(org, connections)
  let state = start(laneSettings(settings), lane, askedAt, monotonic())
  const isHeld = () => !state.isLost && monotonic() < state.heldUntil
  const execute = yield* makeExecutor(lane, line, surroundings, offer, monotonic, isHeld)
  const alarm = yield* makeAlarm(() => offer({ _tag: "woken" }), monotonic)

  const step = (input: LaneInput) =>
    Effect.suspend(() => {
      // Inputs that were taken from the queue with the last one of the lane.
      if (state.phase._tag === "ended") return Effect.void
      const moment = { millis: monotonic(), active: connections.active(org), granted: line.granted() }
      const [after, commands] = next(state, input, moment)
      state = after
      // Most commands have begun by now.
      const rest = commands.map(execute).filter((effect) => effect !== undefined)
      const alarmed = alarm(wakeAt(state))
      return rest.length === 0 ? alarmed : Effect.andThen(Effect.all(rest, { discard: true }), alarmed)
    })
  const untilEnded = Effect.whileLoop({
    while: () => state.phase._tag !== "ended",
    // Inputs that have left the queue are not lost when the lane is interrupted.
    body: () =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(restore(Queue.takeAll(inputs)), (all) => Effect.forEach(all, step, { discard: true }))
      ),
    step: () => {},
  })
  // A process that wants to end waits for the attempts under way.
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
 * Makes an alarm that calls `ring` at the earliest time that was set since it rang last, or before. Unit: milliseconds of the
 * monotonic clock.
 */
const makeAlarm = Effect.fnUntraced(function* (ring: () => void, monotonic: () => number) {
  const handle = yield* FiberHandle.make<void>()
  let setTo = Infinity
  return (at: number) => {
    // To ring too early costs less than another timer for each step.
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
 * Makes the executor of a lane's commands. It begins a command, or returns its effect. The results of commands that take time are
 * offered as inputs.
 */
const makeExecutor = Effect.fnUntraced(function* (
  lane: Lane,
  line: Line,
  { answers, connections, outbox, settings }: Surroundings,
  offer: (input: LaneInput) => void,
  monotonic: () => number,
  isHeld: () => boolean,
) {
  const { org } = lane
  const clock = yield* Clock.Clock
  /** Done when the session of a message is needed for others. */
  const giveUps = new Map<number, AbortController>()
  const notes = yield* FiberSet.make<void>()
  const oneByOne = Semaphore.makeUnsafe(1).withPermit
  yield* Effect.addFinalizer(() => Effect.timeoutOption(FiberSet.awaitEmpty(notes), settings.shutdownTimeout))
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  /** Offers the result of a query, or that the store failed. */
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

  /** Attempts under way. */
  const attempts = new Map<number, { readonly fiber: Fiber.Fiber<void>; readonly endsAt: number }>()
  // One timer for all attempts: no connection takes so long.
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
            const { prepare } = line.connection()
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
        return ask(line.open(command.active), (input) => input)
      case "check": {
        const { ahead, flight, message } = command
        giveUps.set(flight, new AbortController())
        checks.check(message, ahead, (answer) => offer({ ...answer, flight }))
        return undefined
      }
      case "attempt": {
        const { flight, message, platform } = command
        const connection = line.connection()
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
        // It may have ended at once.
        if (fiber.pollUnsafe() === undefined) attempts.set(flight, { fiber, endsAt })
        return undefined
      }
      case "giveUp":
        giveUps.get(command.flight)!.abort()
        return undefined
      case "leave":
        line.connection().leave?.()
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

type Line = Effect.Success<ReturnType<typeof makeLine>>

/** Opens the connection of a lane, and closes the one before. */
const makeLine = Effect.fnUntraced(function* (org: OrgSlug, connections: Connections["Service"]) {
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

/** Lets a message begin only while the lane is held and its recipient is not suppressed. */
class Gate {
  /** The result of an attempt that was not let begin. */
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

/** Sends a message. Errors are results, unless it is interrupted. */
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

/** The trouble of a connection as people are told of it. `unixOffset` is Unix time less monotonic time. */
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
 * Shows an attempt in the trace of the request that asked for the message, on whichever node it is made and however much
 * later. Anything but an acceptance is an error by its kind; nothing names the recipient or the content.
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
