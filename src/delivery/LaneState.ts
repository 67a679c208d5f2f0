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
import { type Claimed, leaseSeconds, type RememberedBrake, type Settled, type TakenLane } from "./Outbox.ts"
import { type Departure, RateLimiter } from "./RateLimiter.ts"

/** The lease is given up this long before it ends, to allow for the start of a send. Unit: milliseconds. */
const marginMillis = 500

/** Until when messages may leave under a lease that was asked for at this time. Unit: milliseconds. */
export const heldUntilOf = (askedAt: number): number => askedAt + leaseSeconds * 1_000 - marginMillis

/** The settings of a lane. */
export interface LaneSettings {
  /** Messages a second at most. */
  readonly rate: number
  readonly retries: RetryPolicy
  /** For how long an ending lane waits for its messages under way. */
  readonly shutdownMillis: number
}

/** The time of an input, and the connection that carries the deliveries then. */
export interface Moment {
  /** Of a clock that does not jump. */
  readonly millis: number
  readonly active: ActiveConnection | undefined
  /** Messages that the platform of the opened connection lets be under way at once; undefined if it sets no limit of its own. */
  readonly granted?: number | undefined
}

/** Why a search of the queue was made. */
export type ClaimPurpose = "crowded" | "probe" | "first" | "idle"

/** The present step of a lane's one loop. Each step but a rest waits for the answer to one command. */
export type Phase =
  | { readonly _tag: "deciding" }
  /** Until this time, or an event of this kind. Each kind includes those before it. */
  | { readonly _tag: "resting"; readonly until: number; readonly wakesOn: "time" | "moved" | "due" }
  | { readonly _tag: "claiming"; readonly choice: ClaimChoice; readonly purpose: ClaimPurpose }
  /** Gives messages back to the queue; `purpose` is that of the claim before. */
  | { readonly _tag: "returning"; readonly purpose: ClaimPurpose | undefined }
  | { readonly _tag: "refusing" }
  | { readonly _tag: "opening"; readonly active: ActiveConnection }
  /** Waits until the messages under way have arrived and are recorded. */
  | { readonly _tag: "landing" }
  | { readonly _tag: "leaving" }
  | { readonly _tag: "releasing" }
  | { readonly _tag: "ended" }

/** The connection in use, and how its sessions are shared. */
export interface Opened {
  readonly active: ActiveConnection
  readonly concurrency: number
  readonly sessions: DomainSessions<Claimed>
}

/** A message under way. */
export interface Leaving {
  readonly message: Claimed
  readonly departure: Departure
  readonly flight: Flight
  /** Whether it finds out if the connection works again. */
  readonly isProbe: boolean
  /** The setup of the connection it left through: it says nothing of a later one. */
  readonly setup: number
}

export interface Batch {
  readonly settled: ReadonlyArray<Settled>
  readonly brake: RememberedBrake | undefined
}

/** The state of a lane. A value: `next` replaces it by another. */
export interface LaneState {
  readonly settings: LaneSettings
  readonly phase: Phase
  /** Messages leave before this time. */
  readonly heldUntil: number
  readonly renewAt: number
  /** When the renewal under way began. */
  readonly renewingSince: number | undefined
  readonly isLost: boolean
  /** When it ends, finished or not; Infinity unless it is ending. */
  readonly endsAt: number
  readonly isStopping: boolean
  /** The failure of the store that ends it. */
  readonly failure: Cause.Cause<SqlError> | undefined
  /** Something happened since the last search of the queue: a message or a record ended, or a message was queued. */
  readonly hasMoved: boolean
  readonly isDue: boolean
  /** Whether the search under way asked for messages of one domain. */
  readonly isAsking: boolean
  readonly busyAt: number
  /** The version of the connection in use, and how many there have been. */
  readonly version: string | undefined
  readonly setup: number
  readonly opened: Opened | undefined
  readonly breaker: Breaker.CircuitBreaker
  readonly blames: Blames
  readonly brake: Brake
  readonly rememberedBrake: RememberedBrake | null
  /** The trouble that was last told, as a key. */
  readonly told: string | null
  readonly rateLimiter: RateLimiter
  /** Domains whose messages probed the connection. */
  readonly probed: ReadonlyArray<string>
  /** Messages under way, by number. */
  readonly flights: ReadonlyMap<number, Leaving>
  readonly departed: number
  /** The message that left last is a suspect: nothing else leaves before it is recorded. */
  readonly isAlone: boolean
  /** Outcomes to record, those that are being recorded, and both with the messages under way. */
  readonly settling: ReadonlyArray<Settled>
  readonly recording: Batch | undefined
  readonly unsettled: number
  /** Whether the store took the last record. */
  readonly isRecording: boolean
  readonly sentLately: number
}

/** Events that a lane reacts to. */
export type LaneInput =
  /** The time of `wakeAt` has come. */
  | { readonly _tag: "woken" }
  /** A message was queued on this node. */
  | { readonly _tag: "due" }
  | { readonly _tag: "renewed"; readonly isHeld: boolean }
  | { readonly _tag: "notRenewed" }
  | { readonly _tag: "claimed"; readonly messages: ReadonlyArray<Claimed> }
  | { readonly _tag: "gaveBack" }
  /** `isRefusing` is false if the connection was set up anew meanwhile. */
  | { readonly _tag: "refused"; readonly isRefusing: boolean }
  | { readonly _tag: "opened"; readonly concurrency: number; readonly domains: DomainLimits | undefined }
  | { readonly _tag: "notOpened"; readonly reason: string }
  /** `found` is undefined where nothing stands in the way of a message. */
  | { readonly _tag: "checked"; readonly flight: number; readonly found: Suppression | undefined }
  | { readonly _tag: "notChecked"; readonly flight: number }
  /** The end of an attempt. `jitter` is chance in [0, 1). */
  | { readonly _tag: "answered"; readonly flight: number; readonly result: SendResult; readonly jitter: number }
  | { readonly _tag: "recorded" }
  | { readonly _tag: "notRecorded"; readonly cause: Cause.Cause<SqlError> }
  | { readonly _tag: "released" }
  /** The store failed to claim, give back, refuse or release. */
  | { readonly _tag: "failed"; readonly cause: Cause.Cause<SqlError> }
  /** The process wants to end. */
  | { readonly _tag: "stop" }

/** Commands of a lane to its shell. All but `giveUp`, `leave`, `arrive`, `note` and `warn` are answered by an input. */
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
  /** `ahead` are the messages that are likely to leave next. */
  | {
    readonly _tag: "check"
    readonly flight: number
    readonly message: Claimed
    readonly ahead: ReadonlyArray<Claimed>
  }
  | { readonly _tag: "attempt"; readonly flight: number; readonly message: Claimed; readonly platform: string }
  | { readonly _tag: "giveUp"; readonly flight: number }
  /** To the connection: ends attempts whose message has not begun. */
  | { readonly _tag: "leave" }
  | ({ readonly _tag: "record"; readonly afterMillis: number } & Batch)
  | { readonly _tag: "note"; readonly connection: string; readonly breaker: Breaker.CircuitBreaker }
  /** A message is no longer under way. */
  | { readonly _tag: "arrive"; readonly flight: number; readonly settled: Settled }
  | { readonly _tag: "warn"; readonly text: string; readonly cause: Cause.Cause<SqlError> }
  | { readonly _tag: "release" }

/** A state while a turn changes it. */
export type LaneDraft = { -readonly [K in keyof LaneState]: LaneState[K] } & { flights: Map<number, Leaving> }

/** One call of `next`: the state it changes, the commands it gathers, and the time. */
export interface LaneTurn {
  readonly lane: LaneDraft
  readonly commands: Array<LaneCommand>
  readonly now: number
  readonly active: ActiveConnection | undefined
}

/** The state of a lane that was just taken; `askedAt` is when it was asked for. */
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

/** When the lane wants a `woken`. */
export const wakeAt = ({ endsAt, isLost, phase, renewAt, renewingSince }: LaneState): number =>
  Math.min(
    phase._tag === "resting" ? phase.until : Infinity,
    isLost || renewingSince !== undefined ? Infinity : renewAt,
    endsAt,
  )

/** Lets the loop decide on its next step. */
export const proceed = (lane: LaneDraft): void => {
  lane.phase = { _tag: "deciding" }
}

export const rest = (lane: LaneDraft, until: number, wakesOn: "time" | "moved" | "due"): void => {
  lane.phase = { _tag: "resting", until, wakesOn }
}

/** Ends a rest that is over, or that something has happened to end. */
export const wake = (lane: LaneDraft, now: number): void => {
  if (lane.phase._tag !== "resting") return
  const { until, wakesOn } = lane.phase
  const isMoved = lane.hasMoved && wakesOn !== "time"
  const isDue = lane.isDue && wakesOn === "due"
  if (now >= until || isMoved || isDue) proceed(lane)
}

/** Notes that a message or a record ended. */
export const move = (lane: LaneDraft, now: number): void => {
  lane.hasMoved = true
  wake(lane, now)
}

/** Whether messages leave one at a time, to find out whether the connection works again. */
export const isProbing = ({ breaker }: LaneDraft): boolean => Breaker.isProbing(breaker, Breaker.connectionPolicy)
