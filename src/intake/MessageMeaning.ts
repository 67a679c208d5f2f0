import type { Skipped } from "../domain/DryRun.ts"
import { nameOf } from "../domain/EventKeys.ts"
import type { EventName } from "../domain/EventKinds.ts"
import { mayBeEmail, optIn } from "../domain/Recipient.ts"
import { ignored } from "./Items.ts"
import { type MessageEvent, messageEventOf } from "./names/MessageEvents.ts"
import type { MessageMeaning } from "./names/MessageWords.ts"
import { groupIn, subscriptionIn } from "./OptOutGroup.ts"
import type { Item } from "./Reading.ts"

/** The event of a message event of a messaging platform. */
export interface NamedMessage {
  readonly event: EventName
  readonly optIn?: true
  /** Whether the event may concern e-mail. */
  readonly isEmail: boolean
  /** Whether the name says that a program caused the event. */
  readonly automated: boolean
  /** Whether the name says that an opt-out or opt-in concerns a group of messages. */
  readonly isOfGroup: boolean
}

/**
 * Returns a message event with its final meaning: a changed subscription is an opt-out or an opt-in, by the members that
 * have its state. Undefined if it has no such state, as the paid subscription of a customer.
 */
const withState = (
  message: MessageEvent,
  levels: ReadonlyArray<Item>,
): { readonly meaning: MessageMeaning; readonly isEmail: boolean } | undefined => {
  const { isEmail, meaning, ofGroup } = message
  if (meaning !== "subscription_state") return { meaning, isEmail }
  const state = subscriptionIn(levels)
  if (state === undefined) return ofGroup === true ? { meaning: "ignored", isEmail } : undefined
  return { meaning: state, isEmail: levels.every((level) => mayBeEmail(nameOf(level["channel"]))) }
}

/**
 * Returns the event of a name that messaging platforms use for what happened to a message, or why it is no event.
 * Undefined for all other names. `levels` have the state of a changed subscription.
 */
export const namedMessage = (stated: string, levels: ReadonlyArray<Item>): NamedMessage | Skipped | undefined => {
  const found = messageEventOf(stated)
  const message = found && withState(found, levels)
  if (message === undefined) return undefined
  const { isEmail, meaning } = message
  if (meaning === "ignored") return ignored(`"${stated}" says nothing about a message's effect`)
  if (meaning === "opt_in" && !isEmail) return ignored(`"${stated}" does not concern e-mail`)
  return {
    ...(meaning === "opt_in" ? optIn : { event: meaning }),
    isEmail,
    automated: found!.automated === true,
    isOfGroup: found!.ofGroup === true,
  }
}

/** Returns the member `group` of an opt-out or opt-in; empty for other events. */
export const ofGroup = (
  { event, isOfGroup, optIn }: Pick<NamedMessage, "event" | "optIn"> & { readonly isOfGroup?: boolean | undefined },
  levels: ReadonlyArray<Item>,
): { readonly group?: string } => {
  if (event !== "unsubscribe" && optIn !== true) return {}
  const group = groupIn(levels, isOfGroup === true)
  return group === undefined ? {} : { group }
}
