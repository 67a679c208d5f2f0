import type { EventName, NormalizedEvent } from "./Event.ts"

/** Events that put the address of their recipient on the suppression list, at once or when they repeat. */
const suppressing: ReadonlySet<EventName> = new Set(["bounce", "soft_bounce", "spam", "unsubscribe"])

/** Whether an event puts the address of its recipient on the suppression list, at once or when it repeats. */
export const isSuppressing = (event: EventName): boolean => suppressing.has(event)

/** Names of events by which a person opts in to messages again, in lowercase. */
export const optInNames: ReadonlySet<string> = new Set([
  "subscribe",
  "subscribed",
  "resubscribe",
  "resubscribed",
  "re_subscribed",
  "opt_in",
  "opted_in",
  "optin",
  "opt-in",
  "opted-in",
  "opt in",
  "opted in",
  "double_opt_in",
])

/** The members of an event by which a person opts in to e-mail again. */
export const optIn = { event: "other", optIn: true } as const satisfies Partial<NormalizedEvent>

/** Marks a suppressing event of a message that was no e-mail, which says nothing about an address. */
export const channelOf = (event: EventName, isEmail: boolean): Pick<NormalizedEvent, "otherChannel"> =>
  isSuppressing(event) && !isEmail ? { otherChannel: true } : {}
