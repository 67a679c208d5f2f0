import type { EventName } from "../../domain/EventKinds.ts"

// Magic addresses: recipients that do not exist. For them, a sink reports events as a platform would.

/** The domain of magic addresses. RFC 2606 reserves `.test`, so no mail server accepts messages for it. */
export const magicDomain = "sandbox.test"

/** The events of a message to each magic address, in order. */
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
 * Returns the events of a message to an address; empty for an ordinary address. `bounced@sandbox.test` and
 * `bounced+anything@sandbox.test` are magic; case is ignored. A message to an unknown local part of the domain is
 * delivered.
 */
const eventsOfAddress = (email: string): ReadonlyArray<EventName> => {
  const [local = "", domain] = email.toLowerCase().split("@")
  if (domain !== magicDomain) return []
  const name = local.split("+", 1)[0]!
  return Object.hasOwn(magicAddresses, name) ? magicAddresses[name as keyof typeof magicAddresses] : ["delivered"]
}

/**
 * Interval between the events of a message. A click within 10 seconds of the delivery would count as automated. Unit:
 * milliseconds.
 */
const apartMillis = 15_000

/** The parts of a message in a sink that its events use. */
interface SunkMessage {
  readonly id: string
  readonly templateId: string
  readonly email: string
  /** Links of the message, in order. */
  readonly links: ReadonlyArray<string>
  /**
   * Whether a test key caused the message. Events of other messages name only the person, because the sandbox has no
   * decision of the message.
   */
  readonly isTest: boolean
}

/** Returns the events of a message as items of custom events. The last event happens at `now`, in Unix milliseconds. */
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
