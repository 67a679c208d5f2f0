import type { EventName } from "../EventKinds.ts"
import type { RefusalClass } from "./RefusalTable.ts"

/**
 * The event of a message that was refused:
 *
 *     bounce         the address does not exist
 *     soft_bounce    the address may work another time: full or disabled mailbox, unreachable server, reason unknown
 *     failed         says nothing about the address: policy, reputation, content, the sender
 */
export type BounceEvent = Extract<EventName, "bounce" | "soft_bounce" | "failed">

/** Events of refused messages, the mildest first. */
export const bounceEvents: ReadonlyArray<BounceEvent> = ["failed", "soft_bounce", "bounce"]

const events: { readonly [name in RefusalClass]: BounceEvent } = {
  "no-such-mailbox": "bounce",
  "mailbox-full": "soft_bounce",
  "disabled": "soft_bounce",
  "temporary": "soft_bounce",
  "unknown": "soft_bounce",
  "content-policy": "failed",
  "sender-policy": "failed",
}

/** Returns the event of a refusal. Only `no-such-mailbox` suppresses the address at once. */
export const eventOfRefusal = (refusal: RefusalClass): BounceEvent => events[refusal]

const aboutAddress: ReadonlySet<RefusalClass> = new Set(["no-such-mailbox", "mailbox-full", "disabled"])

/** Whether a refusal is about the recipient's address, and not about the sender, the message or the server. */
export const isAboutAddress = (refusal: RefusalClass): boolean => aboutAddress.has(refusal)

/** The event of a bounce that a platform calls temporary or permanent. */
export const bounceOf = (isTemporary: boolean): BounceEvent => isTemporary ? "soft_bounce" : "bounce"
