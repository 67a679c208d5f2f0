import type { Duration, Effect } from "effect"
import type { Fault } from "../domain/Errors.ts"
import type { SourceId } from "../domain/Source.ts"
import type { NotComposed } from "./Composer.ts"
import type { Composed } from "../domain/Email.ts"

/** One rendered message that is due, addressed to one person. */
export interface Message {
  /** Names the delivery, and is its tracking id: a UUID. The platform's idempotency key where it has one. */
  readonly id: string
  readonly org: string
  readonly templateId: string
  readonly copyId: string
  /** The recipient's address. */
  readonly email: string
  /** The variant's rendered texts by name, such as `subject`, `body`, `preheader`. */
  readonly vars: Readonly<Record<string, string>>
  /** Which of them are `html`; the others are plain text. */
  readonly formats: Readonly<Record<string, "text" | "html">>
  /** Where the recipient unsubscribes, and whether the template asks for that in the headers. Absent: no such link. */
  readonly unsubscribe?: { readonly url: string; readonly isListed: boolean }
  /** True for transactional messages, by their priority. Default false. */
  readonly isTransactional?: boolean
  /** The local part of the return path that names this delivery. Absent: no return path of its own. */
  readonly returnPath?: string
  /** 1 for the first attempt. */
  readonly attempt: number
  /** When it was queued; the same in every attempt. Unix milliseconds. */
  readonly queuedAt: number
}

/** The platform's own name of an accepted message, under which its webhooks will report on it. */
export interface PlatformMessage {
  readonly source: SourceId
  /** Equal to the `messageKey` that the source's adapter reads from its events. */
  readonly messageKey: string
}

/**
 * The owner of a failure: the connection (it cannot be reached, logged in to, or used), or the recipient (the message, or
 * the domain of its address). Each has circuit breakers of its own, which learn from its own failures only.
 */
export type FailureScope = "connection" | "recipient"

/**
 * How an attempt ended.
 *
 *     accepted    the platform has it
 *     retry       not accepted, or not known to be; worth another attempt after a while
 *     slow-down   the platform wants less: the message stays as it was, and all messages of the scope wait
 *     yielded     given up on request, or for lack of a session, before any part of the message was sent: the message stays as it was
 *     refused     the platform will never take this message
 *     unfit       the message cannot be written in the platform's format; no request was made
 *     broken      the platform takes nothing from us (credentials, settings): the message stays, the connection stops
 */
export type SendResult =
  | {
    readonly _tag: "accepted"
    readonly messageId: string | undefined
    readonly links: ReadonlyArray<PlatformMessage>
  }
  | {
    readonly _tag: "retry"
    readonly scope: FailureScope
    readonly reason: string
    /** The platform may have taken it: the link broke between the last byte and the answer. */
    readonly uncertain: boolean
    /** True when the recipient's server asks for this message later, as with a 4yz reply of SMTP to RCPT or DATA. */
    readonly deferred: boolean
    /** The platform wants this message again after this time, not before. Undefined when it does not say. */
    readonly wait: Duration.Duration | undefined
  }
  | {
    readonly _tag: "slow-down"
    readonly scope: FailureScope
    readonly reason: string
    readonly wait: Duration.Duration | undefined
  }
  /** `keepsPlace`: it stays where it was in the queue, otherwise it goes to the end of the due ones. */
  | {
    readonly _tag: "yielded"
    readonly reason: string
    readonly keepsPlace?: true
    /** The recipient has been suppressed meanwhile: the message is cancelled. */
    readonly isCancelled?: true
  }
  | { readonly _tag: "refused"; readonly reason: string }
  | { readonly _tag: "unfit"; readonly reason: string }
  | { readonly _tag: "broken"; readonly reason: string }

/** Whether a connection's credentials and settings work, found out without sending anything to anybody. */
export interface TestResult {
  readonly ok: boolean
  /** Describes the check and its result in a sentence for people. */
  readonly detail: string
}

/** How much of a connection the messages to one recipient domain may use. */
export interface DomainLimits {
  /** Share of the sessions while messages to other domains wait, above 0 and up to 1; at least one session. */
  readonly share: number
  /** Messages per second; undefined for no limit. */
  readonly perSecond: number | undefined
}

/** A way out: one messaging platform with one organization's credentials. Lives in a scope that closes its sockets. */
export interface Connection {
  /**
   * Never fails: every error is a `SendResult`. The platform has 30 seconds to answer, or `answerMillis`. When `giveUp` is aborted, an
   * attempt of which no part of the message has been sent may end as `yielded`. It asks `MayBegin` right before the message
   * begins to leave, and ends as `yielded` if it may not.
   */
  readonly send: (message: Message, giveUp?: AbortSignal) => Effect.Effect<SendResult>
  readonly test: Effect.Effect<TestResult>
  /** Ends attempts of which no part of the message has been sent: as `yielded`, in their place. Absent where answers come soon. */
  readonly leave?: () => void
  /** Told of messages that `send` is to be called with soon, so that they can be composed together. */
  readonly prepare?: (messages: ReadonlyArray<Message>) => Effect.Effect<void>
  /** Composes a message as `send` does, without sending it. Absent where the platform composes messages. */
  readonly compose?: (message: Message) => Effect.Effect<Composed, NotComposed>
  /** Longest time for an answer, if it is more than 30 seconds. Unit: milliseconds. */
  readonly answerMillis?: number
  /** Messages that may be under way at once. */
  readonly concurrency: number
  /** How many of them the platform grants now, from 1 to `concurrency`. Absent: all. */
  readonly granted?: () => number
  /** How recipient domains share them. Undefined: the platform does not let one recipient delay another. */
  readonly domains?: DomainLimits
  /** Sent twice under one id, the platform delivers it once. */
  readonly idempotent: boolean
}

/** An administrator's input for a connection: settings may be shown, secrets may not. */
export interface ConnectionInput {
  readonly settings: Readonly<Record<string, unknown>>
  readonly secrets: Readonly<Record<string, string>>
}

/** The faults of an input, with pointers such as `/settings/host` and `/secrets/password`. */
export type Faults = ReadonlyArray<Fault>
