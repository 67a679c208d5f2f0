import type { Duration, Effect } from "effect"
import type { Fault } from "../domain/Errors.ts"
import type { RefusalClass } from "../domain/refusals/RefusalTable.ts"
import type { SenderName } from "../domain/Senders.ts"
import type { SourceId } from "../domain/Source.ts"
import type { NotComposed } from "./Composer.ts"
import type { Composed } from "../text/Email.ts"

/** One rendered message that is due, addressed to one person. */
export interface Message {
  /** The delivery's id: a UUID, also its tracking id. It is the idempotency key on platforms that support one. */
  readonly id: string
  readonly org: string
  readonly templateId: string
  readonly copyId: string
  /** The recipient's address. */
  readonly email: string
  /** The variant's rendered texts by name, such as `subject`, `body`, `preheader`. */
  readonly vars: Readonly<Record<string, string>>
  /** The format of each text: `html` or plain text. */
  readonly formats: Readonly<Record<string, "text" | "html">>
  /** The unsubscribe link, and whether the template includes it in the headers (`isListed`). Absent: no link. */
  readonly unsubscribe?: { readonly url: string; readonly isListed: boolean }
  /** True for transactional messages, according to their priority. Default: false. */
  readonly isTransactional?: boolean
  /**
   * The local part of the return path that identifies this delivery. Absent: the message has no return path of its own.
   */
  readonly returnPath?: string
  /** 1 for the first attempt. */
  readonly attempt: number
  /** When the message was queued: equal in every attempt. Unit: Unix milliseconds. */
  readonly queuedAt: number
  /**
   * When the first attempt began that may have reached a server, or this attempt if it is the first: the `Date` of an
   * e-mail, equal in every attempt. Unit: Unix milliseconds.
   */
  readonly firstAttemptAt: number
}

/** The platform's identifier of an accepted message, which its webhooks use to report on the message. */
export interface PlatformMessage {
  readonly source: SourceId | SenderName
  /** Equals the `messageKey` that the source's adapter reads from events. */
  readonly messageKey: string
}

/**
 * The owner of a failure: the connection (it cannot be reached, logged in to, or used), or the recipient (the message
 * or the domain of its address is at fault). Each owner has circuit breakers of its own, which count only its own
 * failures.
 */
export type FailureScope = "connection" | "recipient"

/**
 * The result of an attempt.
 *
 *     accepted    the platform accepted the message
 *     retry       not accepted, or unknown whether accepted; another attempt may succeed
 *     slow-down   the platform requests fewer messages: the message stays queued, and all messages of the scope pause
 *     yielded     given up on request, or for lack of a session, before any part was sent: the message stays queued
 *     refused     the platform will never accept this message
 *     unfit       the message cannot be written in the platform's format; no request was made
 *     broken      no message is accepted (credentials, settings): the message stays queued, the connection stops
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
    /** The platform may have accepted the message: the connection broke between the last byte and the answer. */
    readonly uncertain: boolean
    /** True if the recipient's server defers this message, as with a 4yz reply of SMTP to RCPT or DATA. */
    readonly deferred: boolean
    /** The platform asks for another attempt after this time. Undefined if it names no time. */
    readonly wait: Duration.Duration | undefined
  }
  | {
    readonly _tag: "slow-down"
    readonly scope: FailureScope
    readonly reason: string
    readonly wait: Duration.Duration | undefined
  }
  /** `keepsPlace`: the message keeps its place in the queue. Otherwise it goes to the end of the due messages. */
  | {
    readonly _tag: "yielded"
    readonly reason: string
    readonly keepsPlace?: true
    /** The recipient was suppressed in the meantime: the message is cancelled. */
    readonly isCancelled?: true
  }
  /** `refusal`: the reason, if the recipient's server refused the message. */
  | { readonly _tag: "refused"; readonly reason: string; readonly refusal?: RefusalClass }
  | { readonly _tag: "unfit"; readonly reason: string }
  | { readonly _tag: "broken"; readonly reason: string }

/** Whether the credentials and settings of a connection work. The test sends no message. */
export interface TestResult {
  readonly ok: boolean
  /** A sentence for people: the check and its result. */
  readonly detail: string
}

/** Limits of the messages to one recipient domain. */
export interface DomainLimits {
  /**
   * Share of the sessions that the domain may use while messages to other domains are queued: above 0 and up to 1, at
   * least one session.
   */
  readonly share: number
  /** Messages per second; undefined for no limit. */
  readonly perSecond: number | undefined
}

/**
 * An open connection to a messaging platform with an organization's credentials. Closing its scope closes its sockets.
 */
export interface Connection {
  /**
   * Sends a message. Never fails: every error is a `SendResult`. The platform must answer within 30 seconds, or within
   * `answerMillis`. If `giveUp` is aborted before any part of the message was sent, the attempt may end as `yielded`.
   * The attempt calls `MayBegin` right before it sends the first part, and ends as `yielded` if it may not begin.
   */
  readonly send: (message: Message, giveUp?: AbortSignal) => Effect.Effect<SendResult>
  readonly test: Effect.Effect<TestResult>
  /**
   * Ends attempts that have not sent any part of their message, as `yielded` with `keepsPlace`. Absent if answers
   * arrive soon.
   */
  readonly leave?: () => void
  /** Announces messages that `send` will receive soon, so that they can be composed together. */
  readonly prepare?: (messages: ReadonlyArray<Message>) => Effect.Effect<void>
  /**
   * Composes a message as `send` does, without sending it. Absent if the platform composes messages. Fails with
   * `NotComposed`.
   */
  readonly compose?: (message: Message) => Effect.Effect<Composed, NotComposed>
  /** Timeout of an answer if it is more than 30 seconds. Unit: milliseconds. */
  readonly answerMillis?: number
  /** Maximum number of concurrent attempts. */
  readonly concurrency: number
  /**
   * Number of concurrent attempts that the platform currently allows, from 1 to `concurrency`. Absent: `concurrency`.
   */
  readonly granted?: () => number
  /** Limits of each recipient domain. Undefined: on this platform, one recipient does not delay another. */
  readonly domains?: DomainLimits
  /** Whether the platform delivers a message once if it is sent twice under one id. */
  readonly idempotent: boolean
}

/** An administrator's input for a connection. Settings may be shown, secrets may not. */
export interface ConnectionInput {
  readonly settings: Readonly<Record<string, unknown>>
  readonly secrets: Readonly<Record<string, string>>
}

/** The faults of an input. Pointers are paths such as `/settings/host` and `/secrets/password`. */
export type Faults = ReadonlyArray<Fault>
