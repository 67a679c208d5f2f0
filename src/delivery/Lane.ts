import {
  Cause,
  Clock,
  Deferred,
  Duration,
  Effect,
  Exit,
  FiberSet,
  Latch,
  Metric,
  Option,
  Queue,
  Random,
  Schedule,
  Scope,
} from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug } from "../domain/Ids.ts"
import type { Settings } from "../Settings.ts"
import { asJob } from "../telemetry/LoopWork.ts"
import { spanNamed, stepOf } from "../telemetry/Tracing.ts"
import { cancelledText } from "../suppressions/Suppression.ts"
import { expired, outcomeOf, settledFields, untried } from "./AttemptOutcome.ts"
import { Brake } from "./Brake.ts"
import type { Connection, SendResult } from "./Connection.ts"
import { retry } from "./connections/Answers.ts"
import type { ActiveConnection, Connections } from "./Connections.ts"
import { type ClaimChoice, DomainSessions, type Flight } from "./DomainSessions.ts"
import { Health } from "./Health.ts"
import { type Claimed, leaseSeconds, type Outbox, type Settled } from "./Outbox.ts"
import { type Departure, Pace } from "./Pace.ts"

/** Messages sent by this process, by platform; and what else became of attempts. */
const sent = Metric.counter("parlance_deliveries_sent_total", { incremental: true })
export const failed = Metric.counter("parlance_deliveries_failed_total", { incremental: true })
const repeated = Metric.counter("parlance_deliveries_retried_total", { incremental: true })

/** Shows them before the first message: a share of what is not there is not there either. */
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

/** How often the lease is renewed. */
const renewEvery = "1 second"

/** Sending ends this long before the lease does, for what a send takes to start. Unit: milliseconds. */
const marginMillis = 500

/** A lane with nothing to do is left after this long. Unit: milliseconds. */
const idleMillis = 5_000

/** How often the queue is searched for messages that have become due. Unit: milliseconds. */
const lookMillis = 200

/** How often it is searched for messages of recipient domains that leave one by one, while nothing else leaves. Unit: milliseconds. */
const askMillis = 20

/** Longest time for one message: 40 seconds to compose it and 30 seconds for the platform's answer, with a margin. */
const sendTimeout = Duration.seconds(75)

/** What a lane needs of the process it runs in. */
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
  /** Names this process among others. */
  readonly owner: string
}

/** The connection in use, and how its sessions are shared. */
interface Opened {
  readonly active: ActiveConnection
  readonly connection: Connection
  readonly sessions: DomainSessions<Claimed>
  readonly scope: Scope.Closeable
}

/** A message that sets out. */
interface Leaving {
  readonly departure: Departure
  readonly flight: Flight
  /** Done when the message's session is needed for others. */
  readonly giveUp: Deferred.Deferred<void>
  /** It finds out whether the connection works again. */
  readonly isProbe: boolean
}

/**
 * Sends what is due for one organization, for as long as this process holds its lane and there is something to do.
 *
 *     claim ──► sessions by domain ──► pace (ceiling) ──► suppressed, expired? ──► send, several at once ──► settle, in groups
 *
 * Messages leave in the order of `DomainSessions`. What was accepted by the platform is recorded at once; while that
 * fails, nothing further leaves. `due` wakes it when something was queued on this node.
 */
export const run = Effect.fn("Lane.run")(function* (org: OrgSlug, due: Latch.Latch, surroundings: Surroundings) {
  const { connections, outbox, owner, settings } = surroundings
  const clock = yield* Clock.Clock
  const monotonic = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  const asked = monotonic()
  const lane = yield* outbox.take(org, owner)
  if (lane === undefined) return
  if (lane.failed > 0) yield* Metric.update(failed, lane.failed)

  const retries = {
    attempts: settings.deliveryAttempts,
    firstPause: settings.deliveryRetryDelay,
    horizon: settings.deliveryRetryHorizon,
    recipientHorizon: settings.deliveryRecipientRetryHorizon,
  }
  const claimSize = Math.min(500, Math.max(10, Math.ceil(settings.deliveryRate / 2)))
  const pace = new Pace(settings.deliveryRate)
  let health = new Health()
  /** Domains whose messages were sent to find out whether the connection works again. */
  const probed = new Set<string>()
  let brake = new Brake()
  let rememberedBrake = lane.brake
  const settling = yield* Queue.unbounded<Settled>()
  /** Something ended: a message, a record, a wait. */
  const moved = yield* Latch.make(false)
  let heldUntil = asked + leaseSeconds * 1000 - marginMillis
  let lost = false
  let inFlight = 0
  let unsettled = 0
  let recording = true
  /** The message under way is a suspect: nothing else leaves before it is recorded. */
  let isAlone = false
  let told: string | null = null
  /** Of the connection in use. */
  let version: string | undefined
  let sentLately = 0

  const now = () => clock.currentTimeMillisUnsafe()
  const wait = (millis: number) =>
    Effect.suspend(() => {
      moved.closeUnsafe()
      return Effect.timeoutOption(moved.await, Duration.millis(Math.max(1, Math.ceil(millis))))
    })

  const renewer = Effect.suspend(() => {
    const at = monotonic()
    const perSecond = sentLately
    sentLately = 0
    return Effect.map(outbox.renew(lane, perSecond), (held) => {
      lost = !held
      if (held) heldUntil = at + leaseSeconds * 1000 - marginMillis
    })
  }).pipe(
    Effect.catch((error) => Effect.logDebug("The lease of a lane could not be renewed", error.message)),
    Effect.andThen(Effect.sleep(renewEvery)),
    Effect.forever,
  )

  /** The brake for the next owner of the lane; undefined while that knows it already. */
  const brakeToRemember = () => {
    const { state } = brake
    if (version === undefined || (state === null && (rememberedBrake?.state ?? null) === null)) return undefined
    const isKnown = rememberedBrake?.version === version && rememberedBrake.state?.outcomes === state?.outcomes &&
      rememberedBrake.state?.run?.count === state?.run?.count
    return isKnown ? undefined : { version, state }
  }

  /** Records what has gathered since the last record; comes back until the store has taken it. */
  const record = Effect.gen(function* () {
    const settled = yield* Queue.takeAll(settling)
    const remembered = brakeToRemember()
    yield* Effect.suspend(() => outbox.settle(lane, settled, remembered)).pipe(
      Effect.tapError((error: SqlError) => {
        const first = recording
        recording = false
        return first ? Effect.logWarning("What was sent could not be recorded yet", error.message) : Effect.void
      }),
      Effect.retry(Schedule.spaced("250 millis")),
    )
    recording = true
    rememberedBrake = remembered ?? rememberedBrake
    unsettled -= settled.length
    moved.openUnsafe()
  })

  const tell = (active: ActiveConnection) => {
    const { trouble } = health
    const text = trouble === null ? null : `${trouble.state} ${trouble.until}`
    if (text === told) return Effect.void
    told = text
    return connections.note(org, active.name, trouble)
  }

  /** Feeds the answer to an attempt to the circuit breaker and the pace. */
  const observe = (departure: Departure, result: SendResult, health: Health) => {
    switch (result._tag) {
      case "accepted":
        health.accepted(now())
        pace.speedUp(monotonic())
        sentLately++
        return
      case "refused":
        return health.refused(now())
      case "unfit":
      case "yielded":
        // The platform was not asked, so this says nothing about its health.
        return
      case "slow-down":
        if (result.scope === "recipient") return health.refused(now())
        health.slowedDown(result.reason, result.wait === undefined ? undefined : Duration.toMillis(result.wait), now())
        return pace.slowDown(departure, monotonic())
      case "broken":
        return health.broken(result.reason, now())
      case "retry":
        if (result.scope === "connection") return health.failed(result.reason, now())
        // A reply about the recipient shows that the connection works; silence shows nothing.
        return result.deferred ? health.refused(now()) : undefined
    }
  }

  /**
   * Why a message does not set out although it is its turn; undefined when it does. It may have expired, or its address been
   * suppressed, since the message was claimed. While that cannot be told, nothing leaves.
   */
  const heldBack = (message: Claimed, connection: string) =>
    Effect.map(Effect.option(outbox.suppressionOf(message)), (found): Settled | undefined => {
      if (Option.isSome(found) && found.value !== undefined) {
        return { ...settledFields(message, connection), _tag: "cancelled", reason: cancelledText(found.value) }
      }
      // The lease may have ended while the store was asked.
      return Option.isSome(found) && monotonic() < heldUntil
        ? expired(message, connection, monotonic())
        : untried(message, connection, "The suppression list could not be read in time")
    })

  /**
   * The record of an attempt. Once the brake has tripped, refused messages go back instead of failing. A probe of the connection
   * does not count where the connection fails.
   */
  const recordOf = (message: Claimed, result: SendResult, connection: string, seen: Health, isProbe: boolean) => {
    if (seen === health) {
      if (result._tag === "refused" && brake.trip !== undefined) {
        return Effect.succeed(untried(message, connection, result.reason))
      }
      if (result._tag === "accepted") brake.accepted()
      if (result._tag === "refused") brake.refused(result.reason)
    }
    return isProbe && result._tag === "retry" && result.scope === "connection"
      ? Effect.succeed(untried(message, connection, result.reason))
      : Effect.map(Random.next, (jitter) => outcomeOf(message, result, connection, retries, jitter))
  }

  /** `seen` is the health of the connection as it is set up now: what was under way says nothing of one entered since. */
  const attempt = (
    message: Claimed,
    { departure, flight, giveUp, isProbe }: Leaving,
    { active, connection, sessions }: Opened,
    seen: Health,
  ) =>
    connection.send(message, Deferred.await(giveUp)).pipe(
      Effect.timeoutOrElse({ duration: sendTimeout, orElse: () => Effect.succeed(unanswered("No answer in time")) }),
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.succeed(unanswered("The attempt was broken off"))
          : Effect.as(Effect.logError("A connection failed unexpectedly", cause), unanswered("An internal error"))
      ),
      inTrace(message, active.platform),
      Effect.flatMap((result) => {
        pace.end(departure, monotonic())
        sessions.end(flight, result, monotonic())
        observe(departure, result, seen)
        return recordOf(message, result, active.name, seen, isProbe)
      }),
      Effect.tap(count),
    )

  const send = (message: Claimed, leaving: Leaving, way: Opened, seen: Health) =>
    heldBack(message, way.active.name).pipe(
      Effect.flatMap((held): Effect.Effect<Settled> => {
        if (held === undefined) return attempt(message, leaving, way, seen)
        pace.forgo()
        way.sessions.end(leaving.flight, undefined, monotonic())
        return Effect.as(count(held), held)
      }),
      Effect.flatMap((settled) => {
        inFlight--
        Queue.offerUnsafe(settling, settled)
        moved.openUnsafe()
        return seen === health ? tell(way.active) : Effect.void
      }),
    )

  let opened: Opened | undefined
  const giveBack = (messages: ReadonlyArray<Claimed>) => outbox.giveBack(lane, messages.map(({ id }) => id))
  const putBack = Effect.suspend(() => giveBack(opened?.sessions.drain() ?? []))

  const closeConnection = Effect.suspend(() => {
    const scope = opened?.scope
    opened = undefined
    return scope === undefined ? Effect.void : Scope.close(scope, Exit.void)
  })
  yield* Effect.addFinalizer(() => closeConnection)

  const flights = yield* FiberSet.make<void>()
  const fly = yield* FiberSet.runtime(flights)()
  yield* Effect.forkScoped(renewer)
  yield* Effect.forkScoped(Effect.forever(record))
  /** What is under way has arrived and is recorded. */
  const landed = Effect.andThen(
    FiberSet.awaitEmpty(flights),
    Effect.whileLoop({ while: () => unsettled > 0, body: () => wait(100), step: () => {} }),
  )
  /** The store's failure ends the lane, but not before what has left is recorded, however long that takes: it would leave again. */
  const orLand = <A>(effect: Effect.Effect<A, SqlError>) =>
    Effect.catch(effect, (error) => Effect.andThen(landed, Effect.fail(error)))
  // Before all that ends: what is under way arrives and is recorded, what has not left goes back.
  yield* Effect.addFinalizer(() =>
    landed.pipe(
      Effect.timeoutOption(settings.shutdownTimeout),
      Effect.andThen(putBack),
      Effect.andThen(outbox.release(lane)),
      Effect.timeoutOption(settings.shutdownTimeout),
      Effect.catch((error) => Effect.logWarning("A lane was left without a word to the store", error.message)),
    )
  )

  /** The connection in use; undefined while it cannot be opened. */
  const connect = Effect.fnUntraced(function* (active: ActiveConnection) {
    if (opened?.active.version === active.version) return opened
    yield* orLand(putBack)
    // What is under way still uses the old one.
    yield* FiberSet.awaitEmpty(flights)
    yield* closeConnection
    const scope = yield* Scope.make()
    const result = yield* Effect.result(Scope.provide(connections.open(org, active.name), scope))
    if (result._tag === "Failure") {
      yield* Scope.close(scope, Exit.void)
      health.broken(result.failure._tag === "NotOpened" ? result.failure.reason : "It has just been removed", now())
      yield* tell(active)
      return undefined
    }
    const connection = result.success
    opened = {
      active,
      connection,
      sessions: new DomainSessions<Claimed>(connection.concurrency, connection.domains),
      scope,
    }
    return opened
  })

  /** Claims messages of this choice. */
  const claim = Effect.fnUntraced(function* ({ sessions }: Opened, choice: ClaimChoice) {
    const isBusy = unsettled > 0 || sessions.waitingCount > 0
    const claimed = yield* orLand(outbox.claim(lane, choice.only === undefined ? claimSize : 1, isBusy, choice))
    const back = sessions.add(claimed, choice, monotonic())
    yield* orLand(giveBack(back))
  })

  /** Claims one message to find out whether the connection works: to another domain than the last ones, if there is one. */
  const claimProbe = Effect.fnUntraced(function* ({ sessions }: Opened) {
    if (sessions.waitingCount > 0) return
    const choice = { without: [...sessions.heldDomains, ...probed] }
    const claimed = yield* orLand(outbox.claim(lane, 1, unsettled > 0, choice))
    yield* orLand(giveBack(sessions.add(claimed, choice, monotonic())))
    if (claimed.length === 0) probed.clear()
    for (const { domain } of claimed) probed.add(domain)
  })

  /** Claims the messages that are wanted now. Returns whether it searched for those of a held domain. */
  const claimWanted = Effect.fnUntraced(function* (way: Opened, isIdle: boolean) {
    const choice = way.sessions.wants(monotonic(), claimSize, isIdle)
    if (choice !== undefined) yield* claim(way, choice)
    return choice?.only !== undefined
  })

  /** The message that leaves next, or for how long there is none unless something happens. Unit: milliseconds. */
  const nextMessage = Effect.fnUntraced(function* (way: Opened) {
    const { sessions } = way
    let isAsking = false
    due.closeUnsafe()
    if (health.probing) yield* claimProbe(way)
    else {
      probed.clear()
      isAsking = yield* claimWanted(way, false)
      if (sessions.pick(monotonic()) === undefined) isAsking = (yield* claimWanted(way, true)) || isAsking
    }
    const at = monotonic()
    return sessions.pick(at) ?? Math.max(1, Math.min(isAsking ? askMillis : lookMillis, sessions.nextAt(at) - at))
  })

  if (lane.quietMillis > 0) yield* Effect.sleep(Duration.millis(lane.quietMillis))
  let busyAt = monotonic()

  while (!lost) {
    const active = connections.active(org)
    if (active === undefined || active.paused || active.refusing === true) break
    if (version !== active.version) {
      // Entered anew: whatever was the matter may be mended.
      version = active.version
      health = new Health()
      brake = new Brake(rememberedBrake?.version === version ? rememberedBrake.state : null)
      told = null
    }
    if (brake.trip !== undefined) {
      if (yield* orLand(connections.refuse(org, active, brake.trip.reason))) break
      // It was set up anew meanwhile.
      brake = new Brake()
    }
    const pause = health.resumesAt - now()
    if (pause > 0) {
      yield* orLand(putBack)
      yield* wait(Math.min(pause, 250))
      continue
    }
    const way = yield* connect(active)
    if (way === undefined) continue
    const { connection, sessions } = way
    if (!recording || (isAlone && unsettled > 0) || unsettled > 2 * claimSize) {
      yield* wait(250)
      continue
    }
    yield* orLand(giveBack(sessions.review(monotonic())))
    if (inFlight >= (health.probing ? 1 : connection.concurrency)) {
      if (sessions.isCrowded()) yield* claimWanted(way, false)
      yield* wait(250)
      continue
    }
    moved.closeUnsafe()
    const message = yield* nextMessage(way)
    if (typeof message === "number") {
      const isDone = inFlight === 0 && unsettled === 0 && sessions.waitingCount === 0 &&
        sessions.heldDomains.length === 0
      if (isDone && monotonic() - busyAt > idleMillis) break
      yield* Effect.timeoutOption(Effect.raceFirst(due.await, moved.await), Duration.millis(message))
      continue
    }
    busyAt = monotonic()
    const at = pace.next(busyAt)
    if (at > busyAt) {
      yield* at === Infinity ? wait(250) : Effect.sleep(Duration.millis(at - busyAt))
      continue
    }
    // The clock of the lease, just before the message starts.
    if (busyAt >= heldUntil) {
      yield* wait(100)
      continue
    }
    isAlone = message.isSuspect
    inFlight++
    unsettled++
    const giveUp = Deferred.makeUnsafe<void>()
    const flight = sessions.start(message, busyAt, () => Deferred.doneUnsafe(giveUp, Effect.void))
    const leaving = { departure: pace.start(busyAt), flight, giveUp, isProbe: health.probing }
    fly(asJob("delivery", org)(send(message, leaving, way, health)))
  }
}, Effect.scoped)

/**
 * Shows an attempt in the trace of the request that asked for the message, on whichever node it is made and however much
 * later. Anything but an acceptance is an error by its kind; nothing tells who gets it, or what.
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
