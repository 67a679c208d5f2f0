import type { EventName } from "../../domain/EventKinds.ts"

// Addresses of people who do not exist and react at once: a sink reports for them what a platform would.

/** The domain of magic addresses. RFC 2606 reserves `.test`, so that no mail server takes a message for it. */
export const magicDomain = "sandbox.test"

/** Events of a message to each magic address, in their order. */
export const magicAddresses = {
  delivered: ["delivered"],
  bounced: ["bounce"],
  "soft-bounced": ["soft_bounce"],
  complained: ["delivered", "spam"],
  opened: ["delivered", "open"],
  clicked: ["delivered", "open", "click"],
  unsubscribed: ["delivered", "open", "unsubscribe"],
} as const satisfies Readonly<Record<string, ReadonlyArray<EventName>>>

/**
 * The events of a message to an address: none for an ordinary one. `bounced@sandbox.test` and `bounced+anything@sandbox.test`
 * are magic, in any case of letters. At another word of the domain the message is delivered.
 */
export const eventsOfAddress = (email: string): ReadonlyArray<EventName> => {
  const [local = "", domain] = email.toLowerCase().split("@")
  if (domain !== magicDomain) return []
  const name = local.split("+", 1)[0]!
  return Object.hasOwn(magicAddresses, name) ? magicAddresses[name as keyof typeof magicAddresses] : ["delivered"]
}

/** Between the events of a message: a click within 10 seconds of the delivery would be that of a link scanner. */
const apartMillis = 15_000

/** A message that a sink took, as far as its events need it. */
export interface SunkMessage {
  readonly id: string
  readonly templateId: string
  readonly email: string
  /** Its links, in their order. */
  readonly links: ReadonlyArray<string>
  /** Whether a test key caused it. The events of other messages name the person alone, as the sandbox has no such message. */
  readonly isTest: boolean
}

/** The events of a message as items of custom events; the last one happens at `now`, Unix milliseconds. */
export const itemsOf = ({ email, id, isTest, links, templateId }: SunkMessage, now: number) => {
  const events = eventsOfAddress(email)
  return events.map((event, place) => ({
    event,
    event_id: `${id} simulated ${event}`,
    ...(isTest ? { tracking_id: id, template_id: templateId } : {}),
    user_id: email,
    email,
    occurred_at: now - (events.length - 1 - place) * apartMillis,
    ...(event === "click" && links[0] !== undefined ? { link: links[0] } : {}),
  }))
}
