import type { MemberFault } from "../domain/Event.ts"
import type { ReadValue } from "../text/ReadValue.ts"
import { isItem, type Item } from "./Reading.ts"

/** An object that may contain a member, and its JSON pointer within the item. */
export interface EventLevel {
  readonly item: Item
  readonly at: string
}

/** A value that was read, or the first fault if the member is present but has no valid value. */
interface ReadMember<A> {
  readonly value?: A
  /** The member that supplied the value. */
  readonly from?: { readonly member: string; readonly raw: unknown }
  readonly fault?: MemberFault
}

const nothing: ReadMember<never> = {}

/** Maximum number of characters of a value that a reason quotes. */
const quoted = 60

/** Formats a value for a reason, without control characters and lone surrogates. */
export const shown = (value: unknown): string => {
  if (Array.isArray(value)) return "a list"
  if (isItem(value)) return "an object"
  const text = typeof value === "string" ? value : String(value)
  const cut = text.length > quoted ? `${text.slice(0, quoted)}…` : text
  // deno-lint-ignore no-control-regex
  const plain = cut.toWellFormed().replaceAll(/[\u0000-\u001f\u007f]/g, "\ufffd")
  return typeof value === "string" ? JSON.stringify(plain) : plain
}

/**
 * Returns the fault of a member. `effect` says how its event is stored. `member` is a constant of the source, so it
 * needs no escaping.
 */
export const memberFault = (member: string, value: unknown, wrong: string, effect: string): MemberFault => ({
  member,
  reason: `${member.slice(member.lastIndexOf("/") + 1)} ${shown(value)} ${wrong}. ${effect}`,
})

/**
 * Returns the first value that `read` accepts, from all keys of the first level, then of the next level. If keys have
 * values, but `read` accepts none of them, returns the fault of the first value. Null counts as absent. `effect` says
 * in the fault how the event is stored.
 */
export const given = <A>(
  levels: ReadonlyArray<EventLevel>,
  keys: ReadonlyArray<string>,
  read: (value: unknown) => ReadValue<A>,
  effect: string,
): ReadMember<A> => {
  let first: { readonly member: string; readonly value: unknown; readonly wrong: string } | undefined
  for (const { at, item } of levels) {
    for (const key of keys) {
      const value = item[key]
      if (value === undefined || value === null) continue
      const result = read(value)
      if ("value" in result) return { value: result.value, from: { member: `${at}/${key}`, raw: value } }
      first ??= { member: `${at}/${key}`, value, wrong: result.wrong }
    }
  }
  return first === undefined ? nothing : { fault: memberFault(first.member, first.value, first.wrong, effect) }
}

/** Returns the member `faults` of an event; empty without faults. */
export const faultsIn = (
  ...faults: ReadonlyArray<MemberFault | undefined>
): { readonly faults?: ReadonlyArray<MemberFault> } => {
  const found = faults.filter((fault) => fault !== undefined)
  return found.length === 0 ? {} : { faults: found }
}
