import type { Cause } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { Brake } from "./Brake.ts"
import * as Breaker from "./CircuitBreaker.ts"
import type { DomainLimits } from "./Connection.ts"
import type { ActiveConnection } from "./Connections.ts"
import { copyOf } from "./copyOf.ts"
import { type ClaimChoice, DomainSessions } from "./DomainSessions.ts"
import { noBlames } from "./FailureOwner.ts"
import { confirmRecords, endRecord, recordAgain, recordNext, setOut, takeAnswer, tell } from "./LaneAnswers.ts"
import {
  type ClaimPurpose,
  heldUntilOf,
  isProbing,
  type LaneCommand,
  type LaneDraft,
  type LaneInput,
  type LaneState,
  type LaneTurn,
  type Moment,
  type Opened,
  type Phase,
  proceed,
  rest,
  wake,
} from "./LaneState.ts"
import type { Claimed } from "./Outbox.ts"
import { aheadAtMost, freshMillis } from "./SuppressionChecks.ts"

/** Interval between two renewals of the lease. Unit of all times in this file: milliseconds. */
const renewMillis = 1_000

/** A lane without messages ends after this time. */
const idleMillis = 5_000

/** Interval of the search for messages that have become due. */
const lookMillis = 200

/** Interval of the search for messages to held domains while no other message is sent. */
const askMillis = 20

/** Maximum rest of a lane that awaits an answer or a record. */
const restMillis = 250

/** Interval of the check whether an expired lease was renewed. */
const leaseRestMillis = 100

/**
 * Returns the state of the lane after an input, and its commands. Reads no clock, draws no random number and changes no
 * argument: equal inputs yield equal results.
 */
export const next = (
  state: LaneState,
  input: LaneInput,
  { active, granted, millis }: Moment,
): readonly [LaneState, ReadonlyArray<LaneCommand>] => {
  if (state.phase._tag === "ended") return [state, []]
  const lane: LaneDraft = {
    ...state,
    flights: new Map(state.flights),
    brake: copyOf(state.brake),
    rateLimiter: copyOf(state.rateLimiter),
    opened: state.opened === undefined ? undefined : { ...state.opened, sessions: copyOf(state.opened.sessions) },
  }
  const turn: LaneTurn = { lane, commands: [], now: millis, active }
  if (granted !== undefined) grant(lane, granted)
  apply(turn, input)
  if (lane.phase._tag === "landing" && lane.flights.size > 0 && mayGoOn(turn)) proceed(lane)
  while (lane.phase._tag === "deciding") decide(turn)
  if (lane.phase._tag === "landing") leaveIfLanded(turn)
  if (millis >= lane.endsAt) lane.phase = { _tag: "ended" }
  recordNext(turn)
  renewIfDue(turn)
  return [lane, turn.commands]
}

const apply = (turn: LaneTurn, input: LaneInput): void => {
  const { lane, now } = turn
  switch (input._tag) {
    case "woken":
      return wake(lane, now)
    case "due":
      lane.isDue = true
      return wake(lane, now)
    case "renewed":
      lane.isLost = !input.isHeld
      if (lane.isLost && lane.phase._tag === "landing") land(turn)
      if (input.isHeld) lane.heldUntil = heldUntilOf(lane.renewingSince!)
      return endRenewal(turn)
    case "notRenewed":
      return endRenewal(turn)
    case "claimed":
      return takeClaimed(turn, input.messages)
    case "gaveBack":
      return afterReturn(turn)
    case "refused":
      if (input.isRefusing) return land(turn)
      lane.brake = new Brake()
      return proceed(lane)
    case "opened":
      return useConnection(lane, input.concurrency, input.domains)
    case "notOpened":
      lane.breaker = Breaker.breakDown(lane.breaker, input.reason, now, now)
      tell(turn, (lane.phase as Extract<Phase, { _tag: "opening" }>).active)
      return proceed(lane)
    case "checked":
    case "notChecked":
      return setOut(turn, input)
    case "answered":
      return takeAnswer(turn, input.flight, input.result, input.jitter)
    case "recorded":
      return endRecord(lane, now)
    case "notRecorded":
      return recordAgain(turn, input.cause)
    case "released":
      lane.phase = { _tag: "ended" }
      return
    case "failed":
      return takeFailure(turn, input.cause)
    case "stop":
      lane.isStopping = true
      lane.endsAt = Math.min(lane.endsAt, now + lane.settings.shutdownMillis)
      if (lane.phase._tag === "resting") proceed(lane)
  }
}

/** Whether this process may continue to send through the active connection. */
const mayGoOn = ({ active, lane }: LaneTurn): boolean =>
  !lane.isStopping && !lane.isLost && lane.failure === undefined && active !== undefined && !active.paused &&
  active.refusing !== true

/** Decides the next step of the loop. */
const decide = (turn: LaneTurn): void => {
  const { active, commands, lane, now } = turn
  if (!mayGoOn(turn) || active === undefined) return land(turn)
  // Only later inputs end a rest that begins after this line.
  lane.hasMoved = false
  if (lane.version !== active.version) beginAnew(lane, active.version)
  const { trip } = lane.brake
  if (trip !== undefined) {
    lane.phase = { _tag: "refusing" }
    commands.push({ _tag: "refuse", active, reason: trip.reason })
    return
  }
  if (Breaker.isSilent(lane.breaker, now)) {
    if (putBack(turn, lane.opened?.sessions.drain() ?? [], undefined)) return
    return rest(lane, Math.min(lane.breaker.silentUntil, now + restMillis), "moved")
  }
  const { opened } = lane
  if (opened?.active.version !== active.version) return connect(turn, active)
  const claimSize = claimSizeOf(lane)
  if (!lane.isRecording || (lane.isAlone && lane.unsettled > 0) || lane.unsettled > 2 * claimSize) {
    return rest(lane, now + restMillis, "moved")
  }
  const avoided = opened.sessions.avoid(lane.brake.suspects)
  const { back, givenUp } = opened.sessions.review(now)
  for (const [number, { flight }] of lane.flights) {
    if (givenUp.includes(flight)) commands.push({ _tag: "giveUp", flight: number })
  }
  if (putBack(turn, [...avoided, ...back], undefined)) return
  if (lane.flights.size >= (isProbing(lane) ? 1 : opened.concurrency)) {
    if (opened.sessions.isCrowded() && claimWanted(turn, opened, "crowded")) return
    return rest(lane, now + restMillis, "moved")
  }
  search(turn, opened)
}

const claimSizeOf = ({ settings }: LaneDraft): number => Math.min(500, Math.max(10, Math.ceil(settings.rate / 2)))

/** Number of messages that can be sent before a check expires, at the rate limit. */
const aheadOf = ({ settings }: LaneDraft): number =>
  Math.min(aheadAtMost, Math.ceil(settings.rate * freshMillis / 1_000))

/**
 * Adopts a changed configuration. The change may have fixed the connection's fault, so all earlier failures are
 * discarded. Only refusals that were stored for this version are kept.
 */
const beginAnew = (lane: LaneDraft, version: string): void => {
  lane.version = version
  lane.setup++
  lane.breaker = Breaker.closed
  lane.blames = noBlames
  lane.brake = new Brake(lane.rememberedBrake?.version === version ? lane.rememberedBrake.state : null)
  lane.told = null
}

/** Opens the active connection after the attempts in progress, which use the previous connection, have ended. */
const connect = (turn: LaneTurn, active: ActiveConnection): void => {
  const { commands, lane, now } = turn
  if (putBack(turn, lane.opened?.sessions.drain() ?? [], undefined)) return
  if (lane.flights.size > 0) {
    commands.push({ _tag: "leave" })
    return rest(lane, now + restMillis, "moved")
  }
  lane.opened = undefined
  lane.phase = { _tag: "opening", active }
  commands.push({ _tag: "open", active })
}

const useConnection = (lane: LaneDraft, concurrency: number, domains: DomainLimits | undefined): void => {
  const { active } = lane.phase as Extract<Phase, { _tag: "opening" }>
  lane.opened = { active, concurrency, sessions: new DomainSessions<Claimed>(concurrency, domains) }
  proceed(lane)
}

/** Adapts the number of sessions to the platform's current limit. */
const grant = (lane: LaneDraft, granted: number): void => {
  if (lane.opened === undefined || granted === lane.opened.concurrency) return
  lane.opened.sessions.resize(granted)
  lane.opened = { ...lane.opened, concurrency: granted }
}

/** Returns messages to the queue. Returns false if there are no messages to return. */
const putBack = (
  { commands, lane }: LaneTurn,
  messages: ReadonlyArray<Claimed>,
  purpose: ClaimPurpose | undefined,
): boolean => {
  if (messages.length === 0) return false
  lane.phase = { _tag: "returning", purpose }
  commands.push({ _tag: "giveBack", ids: messages.map(({ id }) => id) })
  return true
}

const afterReturn = (turn: LaneTurn): void => {
  const { lane } = turn
  if (lane.phase._tag === "leaving") return release(turn)
  const { purpose } = lane.phase as Extract<Phase, { _tag: "returning" }>
  return purpose === undefined ? proceed(lane) : afterClaim(turn, purpose)
}

/** Claims messages that may be sent. Messages queued after this point need another search. */
const search = (turn: LaneTurn, opened: Opened): void => {
  const { lane } = turn
  lane.isDue = false
  lane.isAsking = false
  if (!isProbing(lane)) {
    lane.probed = []
    return claimWanted(turn, opened, "first") ? undefined : afterClaim(turn, "first")
  }
  if (opened.sessions.waitingCount > 0) return depart(turn, opened)
  // Selects another domain than the last probes used, if possible.
  claim(turn, opened, 1, { without: [...opened.sessions.heldDomains, ...lane.probed, ...lane.brake.suspects] }, "probe")
}

const claim = (
  { commands, lane }: LaneTurn,
  { sessions }: Opened,
  limit: number,
  choice: ClaimChoice,
  purpose: ClaimPurpose,
) => {
  lane.phase = { _tag: "claiming", choice, purpose }
  const isBusy = lane.unsettled > 0 || sessions.waitingCount > 0
  commands.push({ _tag: "claim", limit, isBusy, choice })
}

/** Claims the messages that are currently wanted. Returns false if no messages are wanted. */
const claimWanted = (turn: LaneTurn, opened: Opened, purpose: ClaimPurpose): boolean => {
  const claimSize = claimSizeOf(turn.lane)
  const choice = opened.sessions.wants(turn.now, claimSize, purpose === "idle")
  if (choice === undefined) return false
  if (choice.only !== undefined) turn.lane.isAsking = true
  claim(turn, opened, choice.only === undefined ? claimSize : choice.atMost ?? 1, choice, purpose)
  return true
}

const takeClaimed = (turn: LaneTurn, messages: ReadonlyArray<Claimed>): void => {
  const { lane, now } = turn
  const { choice, purpose } = lane.phase as Extract<Phase, { _tag: "claiming" }>
  if (purpose === "probe") lane.probed = messages.length === 0 ? [] : [...lane.probed, ...messages.map((m) => m.domain)]
  confirmRecords(lane, messages)
  const back = lane.opened!.sessions.add(messages, choice, now)
  if (!putBack(turn, back, purpose)) afterClaim(turn, purpose)
}

const afterClaim = (turn: LaneTurn, purpose: ClaimPurpose): void => {
  const { lane, now } = turn
  if (lane.isStopping) return proceed(lane)
  if (purpose === "crowded") return rest(lane, now + restMillis, "moved")
  const opened = lane.opened!
  // If no other messages exist, messages to held domains are sent, also as probes of the connection.
  const isOver = purpose === "idle" || opened.sessions.pick(now) !== undefined
  if (!isOver && claimWanted(turn, opened, "idle")) return
  depart(turn, opened)
}

/** Starts the next message if the rate limit permits it. */
const depart = (turn: LaneTurn, { sessions }: Opened): void => {
  const { commands, lane, now } = turn
  const message = sessions.pick(now)
  if (message === undefined) return restIdle(turn, sessions)
  lane.busyAt = now
  const at = lane.rateLimiter.next(now)
  if (at === Infinity) return rest(lane, now + restMillis, "moved")
  if (at > now) return rest(lane, at, "time")
  if (now >= lane.heldUntil) return rest(lane, now + leaseRestMillis, "moved")
  lane.isAlone = message.isSuspect
  lane.unsettled++
  const flight = lane.departed++
  lane.flights.set(flight, {
    message,
    departure: lane.rateLimiter.start(now),
    flight: sessions.start(message, now),
    isProbe: isProbing(lane),
    setup: lane.setup,
  })
  commands.push({ _tag: "check", flight, message, ahead: sessions.ahead(aheadOf(lane)) })
  proceed(lane)
}

/** Rests until a message may be available. Ends the lane if there was no message for `idleMillis`. */
const restIdle = (turn: LaneTurn, sessions: DomainSessions<Claimed>): void => {
  const { lane, now } = turn
  if (lane.brake.suspects.length > 0 && lane.flights.size === 0 && sessions.isIdle && !isProbing(lane)) {
    lane.brake.noOthers()
    return proceed(lane)
  }
  const isDone = lane.unsettled === 0 && sessions.waitingCount === 0 && sessions.heldDomains.length === 0
  if (isDone && now - lane.busyAt > idleMillis) return land(turn)
  const wait = Math.min(lane.isAsking ? askMillis : lookMillis, sessions.nextAt(now) - now)
  rest(lane, now + Math.max(1, wait), "due")
  wake(lane, now)
}

const renewIfDue = ({ commands, lane, now }: LaneTurn): void => {
  if (lane.phase._tag === "ended" || lane.isLost || lane.renewingSince !== undefined || now < lane.renewAt) return
  lane.renewingSince = now
  commands.push({ _tag: "renew", sentPerSecond: lane.sentLately })
  lane.sentLately = 0
}

const endRenewal = ({ lane, now }: LaneTurn): void => {
  lane.renewingSince = undefined
  lane.renewAt = now + renewMillis
}

/** Ends the lane after a failure of the store, but not before sent messages are recorded, however long that takes. */
const takeFailure = (turn: LaneTurn, cause: Cause.Cause<SqlError>): void => {
  const { commands, lane } = turn
  if (lane.phase._tag === "leaving" || lane.phase._tag === "releasing") {
    commands.push({ _tag: "warn", text: "A lane was left without a word to the store", cause })
    lane.phase = { _tag: "ended" }
    return
  }
  lane.failure = cause
  lane.phase = { _tag: "landing" }
}

/**
 * Ends the lane: attempts in progress finish and are recorded, other messages return to the queue. The lane awaits slow
 * answers, so that no message is sent twice, unless the process shuts down or another process owns the lane.
 */
const land = ({ commands, lane, now }: LaneTurn): void => {
  lane.phase = { _tag: "landing" }
  if (lane.isStopping || lane.isLost) lane.endsAt = Math.min(lane.endsAt, now + lane.settings.shutdownMillis)
  else if (lane.flights.size > 0) commands.push({ _tag: "leave" })
}

const leaveIfLanded = (turn: LaneTurn): void => {
  const { commands, lane, now } = turn
  if (lane.flights.size > 0 || lane.unsettled > 0) return
  lane.endsAt = Math.min(lane.endsAt, now + lane.settings.shutdownMillis)
  const waiting = lane.opened?.sessions.drain() ?? []
  if (waiting.length === 0) return release(turn)
  lane.phase = { _tag: "leaving" }
  commands.push({ _tag: "giveBack", ids: waiting.map(({ id }) => id) })
}

const release = ({ commands, lane }: LaneTurn): void => {
  lane.phase = { _tag: "releasing" }
  commands.push({ _tag: "release" })
}
