import type { EventName, NormalizedEvent } from "../domain/Event.ts"
import { find, type Item, nameOf } from "./Reading.ts"

/** Events that put the address of their recipient on the suppression list, at once or when they repeat. */
const suppressing: ReadonlySet<EventName> = new Set(["bounce", "soft_bounce", "spam", "unsubscribe"])

/** Whether an event puts the address of its recipient on the suppression list, at once or when it repeats. */
export const isSuppressing = (event: EventName): boolean => suppressing.has(event)

/**
 * What a suppressing event says about its recipient: the e-mail address under the first of `keys` that has one, unless that
 * is the user's name anyway, or that the message was no e-mail. Nothing for other events.
 */
export const recipientOf = (
  { event, user }: Pick<NormalizedEvent, "event" | "user">,
  isEmail: boolean,
  levels: ReadonlyArray<Item>,
  keys: ReadonlyArray<string>,
): Pick<NormalizedEvent, "recipient" | "otherChannel"> => {
  if (!isSuppressing(event)) return {}
  if (!isEmail) return { otherChannel: true }
  const recipient = find(levels, keys, (value) => {
    const name = nameOf(value)
    return name?.includes("@") ? name : undefined
  })
  return recipient === undefined || recipient === user ? {} : { recipient }
}
