import type { Cause } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { cancelledText } from "../suppressions/Suppression.ts"
import { expired, outcomeOf, settledFields, untried } from "./AttemptOutcome.ts"
import type { BrakeState } from "./Brake.ts"
import type { SendResult } from "./Connection.ts"
import type { ActiveConnection } from "./Connections.ts"
import { afterAttempt, judge } from "./FailureOwner.ts"
import { type LaneDraft, type LaneInput, type LaneTurn, move } from "./LaneState.ts"
import type { RememberedBrake } from "./LaneLeases.ts"
import type { Claimed, Settled } from "./Outbox.ts"
import type { Departure } from "./RateLimiter.ts"

// Steps of a message that a lane has picked: check, attempt, record.

/** Interval of attempts to record sent messages. Unit: milliseconds. */
const recordAgainMillis = 250

/**
 * Sends a picked message, unless it has expired or its address was suppressed after the claim. If the suppression list
 * cannot be read, the message returns to the queue.
 */
export const setOut = (turn: LaneTurn, input: Extract<LaneInput, { _tag: "checked" | "notChecked" }>): void => {
  const { commands, lane, now } = turn
  const { flight, message } = lane.flights.get(input.flight)!
  const { active, sessions } = lane.opened!
  const held = heldBack(turn, message, active.name, input)
  if (held === undefined) {
    commands.push({ _tag: "attempt", flight: input.flight, message, platform: active.platform })
    return
  }
  lane.rateLimiter.forgo()
  sessions.end(flight, undefined, now)
  arrive(turn, input.flight, held)
}

/** Returns the record of a picked message that must not be sent, or undefined if it may be sent. */
const heldBack = (
  { lane, now }: LaneTurn,
  message: Claimed,
  connection: string,
  input: Extract<LaneInput, { _tag: "checked" | "notChecked" }>,
): Settled | undefined => {
  if (input._tag === "checked" && input.found !== undefined) {
    return { ...settledFields(message, connection), _tag: "cancelled", reason: cancelledText(input.found) }
  }
  // The lease may have expired during the query.
  return input._tag === "checked" && now < lane.heldUntil
    ? expired(message, connection, now)
    : untried(message, connection, "The suppression list could not be read in time")
}

/**
 * Processes the end of attempt `number`: updates the breakers, the brake and the rate limiter, and settles the message.
 */
export const takeAnswer = (turn: LaneTurn, number: number, answer: SendResult, jitter: number): void => {
  const { lane, now } = turn
  const { departure, flight, isProbe, message, setup } = lane.flights.get(number)!
  const { active, sessions } = lane.opened!
  const [blames, result] = judge(lane.blames, message.id, answer, departure.startedAt, now)
  lane.blames = blames
  lane.rateLimiter.end(departure, now)
  sessions.end(flight, result, now)
  adjustRate(lane, departure, result, now)
  const isPresent = setup === lane.setup
  if (isPresent) lane.breaker = afterAttempt(lane.breaker, "connection", result, departure.startedAt, now)
  const settled = recordOf(lane, message, result, active.name, isPresent, isProbe, jitter)
  arrive(turn, number, settled)
  if (isPresent) tell(turn, active)
}

/** Ends the flight of a message. */
const arrive = ({ commands, lane, now }: LaneTurn, number: number, settled: Settled): void => {
  lane.flights.delete(number)
  lane.settling = [...lane.settling, settled]
  commands.push({ _tag: "arrive", flight: number, settled })
  move(lane, now)
}

const adjustRate = (lane: LaneDraft, departure: Departure, result: SendResult, now: number): void => {
  if (result._tag === "accepted") {
    lane.rateLimiter.speedUp(now)
    lane.sentLately++
  } else if (result._tag === "slow-down" && result.scope === "connection") lane.rateLimiter.slowDown(departure, now)
}

/**
 * Returns the record of an attempt. If the brake has tripped or suspects the domain, refused messages in progress
 * return to the queue instead of failing. A probe does not count as an attempt if the connection fails.
 */
const recordOf = (
  lane: LaneDraft,
  message: Claimed,
  result: SendResult,
  connection: string,
  isPresent: boolean,
  isProbe: boolean,
  jitter: number,
): Settled => {
  if (isPresent) {
    const { suspects, trip } = lane.brake
    if (result._tag === "refused" && (trip !== undefined || suspects.includes(message.domain))) {
      return untried(message, connection, result.reason)
    }
    if (result._tag === "accepted") lane.brake.accepted(message.domain)
    if (result._tag === "refused") lane.brake.refused(message.domain, result.reason, result.refusal)
  }
  return isProbe && result._tag === "retry" && result.scope === "connection"
    ? untried(message, connection, result.reason)
    : outcomeOf(message, result, connection, lane.settings.retries, jitter)
}

/** Publishes trouble with the connection if it has changed. */
export const tell = ({ commands, lane }: LaneTurn, { name }: ActiveConnection): void => {
  const { silentUntil, trouble } = lane.breaker
  const text = trouble === undefined ? null : `${trouble.state} ${silentUntil}`
  if (text === lane.told) return
  lane.told = text
  commands.push({ _tag: "note", connection: name, breaker: lane.breaker })
}

/** Records the results since the last record, unless a record is in progress. */
export const recordNext = ({ commands, lane }: LaneTurn): void => {
  if (lane.recording !== undefined || lane.settling.length === 0) return
  lane.recording = { settled: lane.settling, brake: brakeToRemember(lane) }
  lane.settling = []
  commands.push({ _tag: "record", afterMillis: 0, ...lane.recording })
}

/** The brake's state for the next owner of the lane, or undefined if it is already stored. */
const brakeToRemember = ({ brake: { state }, rememberedBrake, version }: LaneDraft): RememberedBrake | undefined => {
  if (version === undefined || (state === null && (rememberedBrake?.state ?? null) === null)) return undefined
  const isKnown = rememberedBrake?.version === version && isSameBrake(rememberedBrake.state, state)
  return isKnown ? undefined : { version, state }
}

/** Processes the commit of the record in progress. */
export const endRecord = (lane: LaneDraft, now: number): void => {
  const { brake, settled } = lane.recording!
  lane.recording = undefined
  lane.isRecording = true
  lane.rememberedBrake = brake ?? lane.rememberedBrake
  lane.unsettled -= settled.length
  move(lane, now)
}

/**
 * Removes claimed messages from the record in progress. They were claimed again, so the store has committed the record
 * although its answer is missing. Repeating the record would queue these messages again while they are being sent.
 */
export const confirmRecords = (lane: LaneDraft, claimed: ReadonlyArray<Claimed>): void => {
  if (lane.recording === undefined) return
  const ids = new Set(claimed.map(({ id }) => id))
  const settled = lane.recording.settled.filter(({ id }) => !ids.has(id))
  lane.unsettled -= lane.recording.settled.length - settled.length
  lane.recording = { ...lane.recording, settled }
}

/** Repeats the record until the store accepts it, because messages without a record would be sent again. */
export const recordAgain = ({ commands, lane }: LaneTurn, cause: Cause.Cause<SqlError>): void => {
  if (lane.isRecording) {
    commands.push({ _tag: "warn", text: "Sent messages could not be recorded yet. It will be retried", cause })
  }
  lane.isRecording = false
  commands.push({ _tag: "record", afterMillis: recordAgainMillis, ...lane.recording! })
}

const isSameBrake = (a: BrakeState | null, b: BrakeState | null) =>
  a?.run?.count === b?.run?.count && JSON.stringify(a?.answers) === JSON.stringify(b?.answers)
