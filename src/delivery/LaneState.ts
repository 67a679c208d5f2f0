import type { Cause } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Suppression } from "../suppressions/Suppression.ts"
import type { RetryPolicy } from "./AttemptOutcome.ts"
import { Brake } from "./Brake.ts"
import * as Breaker from "./CircuitBreaker.ts"
import type { DomainLimits, SendResult } from "./Connection.ts"
import type { ActiveConnection } from "./Connections.ts"
import { type Blames, noBlames } from "./FailureOwner.ts"
import type { ClaimChoice, DomainSessions, Flight } from "./DomainSessions.ts"
import { leaseSeconds, type RememberedBrake, type TakenLane } from "./LaneLeases.ts"
import type { Claimed, Settled } from "./Outbox.ts"
import { type Departure, RateLimiter } from "./RateLimiter.ts"

/** The lane stops sending this long before its lease expires, to allow for the start of a send. Unit: milliseconds. */
const marginMillis = 500

/** The time until which messages may be sent under a lease that was requested at `askedAt`. Unit: milliseconds. */
export const heldUntilOf = (askedAt: number): number => askedAt + leaseSeconds * 1_000 - marginMillis

/** The settings of a lane. */
export interface LaneSettings {
  /** Maximum number of messages per second. */
  readonly rate: number
  readonly retries: RetryPolicy
  /** How long an ending lane awaits attempts in progress. */
  readonly shutdownMillis: number
}

/** The time of an input, and the state of the connection at that time. */
export interface Moment {
  /** Monotonic clock. */
  readonly millis: number
  readonly active: ActiveConnection | undefined
  /** Maximum number of concurrent messages that the platform currently allows; undefined if it sets no limit. */
  readonly granted?: number | undefined
}

/** The reason for a search of the queue. */
export type ClaimPurpose = "crowded" | "probe" | "first" | "idle"

/** The current step of a lane's loop. Every step except `resting` awaits the answer to one command. */
export type Phase =
  | { readonly _tag: "deciding" }
  /** Rests until this time, or until an event of this kind. Each kind includes the kinds before it. */
  | { readonly _tag: "resting"; readonly until: number; readonly wakesOn: "time" | "moved" | "due" }
  | { readonly _tag: "claiming"; readonly choice: ClaimChoice; readonly purpose: ClaimPurpose }
  /** Returns messages to the queue. `purpose` is the purpose of the preceding claim. */
  | { readonly _tag: "returning"; readonly purpose: ClaimPurpose | undefined }
  | { readonly _tag: "refusing" }
  | { readonly _tag: "opening"; readonly active: ActiveConnection }
  /** Waits until the attempts in progress have ended and are recorded. */
  | { readonly _tag: "landing" }
  | { readonly _tag: "leaving" }
  | { readonly _tag: "releasing" }
  | { readonly _tag: "ended" }

/** The connection in use, and the sharing of its sessions. */
export interface Opened {
  readonly active: ActiveConnection
  readonly concurrency: number
  readonly sessions: DomainSessions<Claimed>
}

/** A message that is being sent. */
interface Leaving {
  readonly message: Claimed
  readonly departure: Departure
  readonly flight: Flight
  /** Whether the attempt tests if the connection works again. */
  readonly isProbe: boolean
  /** Number of the connection setup that it uses. Its result says nothing about later setups. */
  readonly setup: number
}

interface Batch {
  readonly settled: ReadonlyArray<Settled>
  readonly brake: RememberedBrake | undefined
}

/** The state of a lane: a value, which `next` replaces. */
export interface LaneState {
  readonly settings: LaneSettings
  readonly phase: Phase
  /** Messages may begin before this time. */
  readonly heldUntil: number
  readonly renewAt: number
  /** When the renewal in progress began. */
  readonly renewingSince: number | undefined
  readonly isLost: boolean
  /** When an ending lane stops waiting; Infinity if the lane is not ending. */
  readonly endsAt: number
  readonly isStopping: boolean
  /** The failure of the store that ends the lane. */
  readonly failure: Cause.Cause<SqlError> | undefined
  /** Whether a message or a record ended (`hasMoved`), or a message was queued (`isDue`), since the last search. */
  readonly hasMoved: boolean
  readonly isDue: boolean
  /** Whether the search in progress is for messages of one domain. */
  readonly isAsking: boolean
  readonly busyAt: number
  /** The version of the connection in use, and the number of versions so far (`setup`). */
  readonly version: string | undefined
  readonly setup: number
  readonly opened: Opened | undefined
  readonly breaker: Breaker.CircuitBreaker
  readonly blames: Blames
  readonly brake: Brake
  readonly rememberedBrake: RememberedBrake | null
  /** Key of the trouble that was last published. */
  readonly told: string | null
  readonly rateLimiter: RateLimiter
  /** Domains whose messages have probed the connection. */
  readonly probed: ReadonlyArray<string>
  /** Messages being sent, by flight number. */
  readonly flights: ReadonlyMap<number, Leaving>
  readonly departed: number
  /**
   * Whether the latest message is suspected of interruptions (`isSuspect`). Then no other message is sent before its
   * result is recorded.
   */
  readonly isAlone: boolean
  /** Outcomes to record (`settling`), outcomes being recorded, and the number of both plus the messages being sent. */
  readonly settling: ReadonlyArray<Settled>
  readonly recording: Batch | undefined
  readonly unsettled: number
  /** Whether the store accepted the last record. */
  readonly isRecording: boolean
  readonly sentLately: number
}

/** Inputs of a lane. */
export type LaneInput =
  /** The time `wakeAt` was reached. */
  | { readonly _tag: "woken" }
  /** A message was queued on this node. */
  | { readonly _tag: "due" }
  | { readonly _tag: "renewed"; readonly isHeld: boolean }
  | { readonly _tag: "notRenewed" }
  | { readonly _tag: "claimed"; readonly messages: ReadonlyArray<Claimed> }
  | { readonly _tag: "gaveBack" }
  /** `isRefusing` is false if the connection was reconfigured in the meantime. */
  | { readonly _tag: "refused"; readonly isRefusing: boolean }
  | { readonly _tag: "opened"; readonly concurrency: number; readonly domains: DomainLimits | undefined }
  | { readonly _tag: "notOpened"; readonly reason: string }
  /** `found` is the suppression of the recipient, if any. */
  | { readonly _tag: "checked"; readonly flight: number; readonly found: Suppression | undefined }
  | { readonly _tag: "notChecked"; readonly flight: number }
  /** The end of an attempt. `jitter` is random, in [0, 1). */
  | { readonly _tag: "answered"; readonly flight: number; readonly result: SendResult; readonly jitter: number }
  | { readonly _tag: "recorded" }
  | { readonly _tag: "notRecorded"; readonly cause: Cause.Cause<SqlError> }
  | { readonly _tag: "released" }
  /** The store failed to claim, return, refuse or release. */
  | { readonly _tag: "failed"; readonly cause: Cause.Cause<SqlError> }
  /** The process shuts down. */
  | { readonly _tag: "stop" }

/**
 * Commands of a lane to its executor. All except `giveUp`, `leave`, `arrive`, `note` and `warn` are answered by an
 * input.
 */
export type LaneCommand =
  | { readonly _tag: "renew"; readonly sentPerSecond: number }
  | {
    readonly _tag: "claim"
    readonly limit: number
    readonly isBusy: boolean
    readonly choice: ClaimChoice
  }
  | { readonly _tag: "giveBack"; readonly ids: ReadonlyArray<string> }
  | { readonly _tag: "refuse"; readonly active: ActiveConnection; readonly reason: string }
  /** Closes the connection in use and opens this one. */
  | { readonly _tag: "open"; readonly active: ActiveConnection }
  /** `ahead` contains the messages that are likely to be sent next. */
  | {
    readonly _tag: "check"
    readonly flight: number
    readonly message: Claimed
    readonly ahead: ReadonlyArray<Claimed>
  }
  | { readonly _tag: "attempt"; readonly flight: number; readonly message: Claimed; readonly platform: string }
  | { readonly _tag: "giveUp"; readonly flight: number }
  /** Makes the connection end attempts that have not sent any part of their message. */
  | { readonly _tag: "leave" }
  | ({ readonly _tag: "record"; readonly afterMillis: number } & Batch)
  | { readonly _tag: "note"; readonly connection: string; readonly breaker: Breaker.CircuitBreaker }
  /** The flight of a message has ended. */
  | { readonly _tag: "arrive"; readonly flight: number; readonly settled: Settled }
  | { readonly _tag: "warn"; readonly text: string; readonly cause: Cause.Cause<SqlError> }
  | { readonly _tag: "release" }

/** A mutable copy of the state during one call of `next`. */
export type LaneDraft = { -readonly [K in keyof LaneState]: LaneState[K] } & { flights: Map<number, Leaving> }

/** One call of `next`: the state it changes, the commands it collects, and the time. */
export interface LaneTurn {
  readonly lane: LaneDraft
  readonly commands: Array<LaneCommand>
  readonly now: number
  readonly active: ActiveConnection | undefined
}

/** Returns the initial state of a lane that was just claimed. `askedAt` is the time of the claim's request. */
export const start = (
  settings: LaneSettings,
  { brake, quietMillis }: Pick<TakenLane, "brake" | "quietMillis">,
  askedAt: number,
  now: number,
): LaneState => ({
  settings,
  phase: { _tag: "resting", until: now + quietMillis, wakesOn: "time" },
  heldUntil: heldUntilOf(askedAt),
  renewAt: now,
  renewingSince: undefined,
  isLost: false,
  endsAt: Infinity,
  isStopping: false,
  failure: undefined,
  hasMoved: false,
  isDue: false,
  isAsking: false,
  busyAt: now + quietMillis,
  version: undefined,
  setup: 0,
  opened: undefined,
  breaker: Breaker.closed,
  blames: noBlames,
  brake: new Brake(),
  rememberedBrake: brake,
  told: null,
  rateLimiter: new RateLimiter(settings.rate),
  probed: [],
  flights: new Map(),
  departed: 0,
  isAlone: false,
  settling: [],
  recording: undefined,
  unsettled: 0,
  isRecording: true,
  sentLately: 0,
})

/** When the lane needs the input `woken`. */
export const wakeAt = ({ endsAt, isLost, phase, renewAt, renewingSince }: LaneState): number =>
  Math.min(
    phase._tag === "resting" ? phase.until : Infinity,
    isLost || renewingSince !== undefined ? Infinity : renewAt,
    endsAt,
  )

/** Makes the loop decide its next step. */
export const proceed = (lane: LaneDraft): void => {
  lane.phase = { _tag: "deciding" }
}

/** Rests until `until`, or until an event of the kind `wakesOn`. */
export const rest = (lane: LaneDraft, until: number, wakesOn: "time" | "moved" | "due"): void => {
  lane.phase = { _tag: "resting", until, wakesOn }
}

/** Ends a rest whose time is over or whose event has occurred. */
export const wake = (lane: LaneDraft, now: number): void => {
  if (lane.phase._tag !== "resting") return
  const { until, wakesOn } = lane.phase
  const isMoved = lane.hasMoved && wakesOn !== "time"
  const isDue = lane.isDue && wakesOn === "due"
  if (now >= until || isMoved || isDue) proceed(lane)
}

/** Records that a message or a record has ended. */
export const move = (lane: LaneDraft, now: number): void => {
  lane.hasMoved = true
  wake(lane, now)
}

/** Whether messages are sent one at a time, to test whether the connection works again. */
export const isProbing = ({ breaker }: LaneDraft): boolean => Breaker.isProbing(breaker, Breaker.connectionPolicy)
