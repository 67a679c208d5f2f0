import type { Duration, Effect } from "effect"
import type { Fault } from "../domain/Errors.ts"
import type { Segment } from "../domain/Source.ts"

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
  /** 1 for the first attempt. */
  readonly attempt: number
  /** When it was queued; the same in every attempt. Unix milliseconds. */
  readonly queuedAt: number
}

/** The platform's own name of an accepted message, under which its webhooks will report on it. */
export interface MessageLink {
  readonly source: Segment
  /** Equal to the `messageKey` that the source's adapter reads from its events. */
  readonly messageKey: string
}

/**
 * How an attempt ended.
 *
 *     accepted    the platform has it
 *     retry       not accepted, or not known to be; worth another attempt after a while
 *     slow-down   the platform wants less: the message stays as it was, and everybody waits
 *     refused     the platform will never take this message
 *     unfit       the message cannot be made into what the platform takes; the platform was not asked
 *     broken      the platform takes nothing from us (credentials, settings): the message stays, the connection stops
 */
export type SendResult =
  | { readonly _tag: "accepted"; readonly messageId: string | undefined; readonly links: ReadonlyArray<MessageLink> }
  | {
    readonly _tag: "retry"
    readonly reason: string
    /** The platform may have taken it: the link broke between the last byte and the answer. */
    readonly uncertain: boolean
    /** True when the recipient's server asks for this message later, as with a 4yz reply of SMTP to RCPT or DATA. */
    readonly deferred: boolean
    /** The platform wants this message again after this time, not before. Undefined when it does not say. */
    readonly wait: Duration.Duration | undefined
  }
  | { readonly _tag: "slow-down"; readonly reason: string; readonly wait: Duration.Duration | undefined }
  | { readonly _tag: "refused"; readonly reason: string }
  | { readonly _tag: "unfit"; readonly reason: string }
  | { readonly _tag: "broken"; readonly reason: string }

/** Whether a connection's credentials and settings work, found out without sending anything to anybody. */
export interface TestResult {
  readonly ok: boolean
  /** Describes the check and its result in a sentence for people. */
  readonly detail: string
}

/** A way out: one messaging platform with one organization's credentials. Lives in a scope that closes its sockets. */
export interface Connection {
  /** Never fails: every error is a `SendResult`. The platform has 30 seconds to answer. */
  readonly send: (message: Message) => Effect.Effect<SendResult>
  readonly test: Effect.Effect<TestResult>
  /** Messages that may be under way at once. */
  readonly concurrency: number
  /** Sent twice under one id, the platform delivers it once. */
  readonly idempotent: boolean
}

/** An administrator's input for a connection: settings may be shown, secrets may not. */
export interface ConnectionInput {
  readonly settings: Readonly<Record<string, unknown>>
  readonly secrets: Readonly<Record<string, string>>
}

/** The faults of what was entered, with pointers such as `/settings/host` and `/secrets/password`. */
export type Faults = ReadonlyArray<Fault>
