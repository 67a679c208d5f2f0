import { nameOf } from "../domain/EventKeys.ts"
import { optInNames } from "../domain/Recipient.ts"
import { isItem, type Item } from "./Reading.ts"
import { readTruth } from "./Truth.ts"

// Opt-outs and opt-ins that concern only some of the messages: one list, group, channel or type.

/** Members that name the list, group or type of messages of an opt-out. */
export const groupKeys: ReadonlyArray<string> = [
  "group",
  "group_id",
  "subscription_group",
  "subscription_group_id",
  "list",
  "list_id",
  "list_name",
  "topic",
  "topic_id",
  "message_type",
  "message_type_id",
]

/** Members that messages of a group have in all their events, and that name the group of an opt-out from a group. */
const senderGroupKeys: ReadonlyArray<string> = [
  "asm_group_id",
  "unsubscribe_group_id",
  "unsubscribe_group",
  "List",
  "list_ids",
  "channel_id",
  "category",
]

/** The group of an opt-out that names none. */
export const unnamedGroup = "unnamed"

/** Maximum number of groups of one opt-out. */
const maxGroups = 10

/** Returns the name of a group, or the names of a list of groups, separated by commas. */
export const groupOf = (value: unknown): string | undefined => {
  if (!Array.isArray(value)) return nameOf(isItem(value) ? value["id"] ?? value["name"] : value)
  const names = value.slice(0, maxGroups).flatMap((one: unknown) => nameOf(one) ?? [])
  return names.length === 0 ? undefined : nameOf(names.join(","))
}

/**
 * Returns the group of an opt-out or opt-in; undefined if it concerns all messages. `isOfGroup`: the name of the event
 * says that it concerns a group.
 */
export const groupIn = (levels: ReadonlyArray<Item>, isOfGroup: boolean): string | undefined => {
  for (const key of isOfGroup ? [...groupKeys, ...senderGroupKeys] : groupKeys) {
    for (const level of levels) {
      const group = groupOf(level[key])
      if (group !== undefined) return group
    }
  }
  return isOfGroup ? unnamedGroup : undefined
}

const statusKeys = ["subscription_status", "subscription_state", "status", "state", "new_status"]
const suppressKeys = ["SuppressSending", "suppress_sending"]

const optOutWords: ReadonlySet<string> = new Set(["unsubscribed", "unsubscribe", "opted out", "opt out", "optedout"])

/** Returns whether a changed subscription is an opt-out or an opt-in; undefined for other changes. */
export const subscriptionIn = (levels: ReadonlyArray<Item>): "unsubscribe" | "opt_in" | undefined => {
  for (const level of levels) {
    for (const key of statusKeys) {
      const status = nameOf(level[key])?.trim().toLowerCase().replaceAll(/[_-]/g, " ")
      if (status === undefined) continue
      if (optOutWords.has(status)) return "unsubscribe"
      if (optInNames.has(status)) return "opt_in"
    }
    for (const key of suppressKeys) {
      const suppress = level[key] === undefined ? undefined : readTruth(level[key])
      if (suppress !== undefined && "value" in suppress) return suppress.value ? "unsubscribe" : "opt_in"
    }
  }
  return undefined
}
