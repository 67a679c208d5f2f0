import { readAddress } from "../text/AddressText.ts"
import { isSuppressing } from "../domain/EventKinds.ts"
import type { Skipped } from "../domain/DryRun.ts"
import type {
  ErasureRequest,
  IncompleteItem,
  Normalized,
  NormalizedEvent,
  ProfileUpdate,
  SkippedItem,
} from "../domain/Event.ts"
import { filledIn } from "./Unfilled.ts"
import { isBlank, isItem, parseJson } from "./Reading.ts"
import type { NotUnderstood } from "../domain/DryRun.ts"

/** The result of reading one item of a body. */
export type ReadItem =
  | NormalizedEvent
  | { readonly profile: ProfileUpdate }
  | { readonly erasure: ErasureRequest }
  | Skipped

/** Returns the result for an item that is known to be no event. It is acknowledged and needs no inspection. */
export const ignored = (reason: string): Skipped => ({ reason, expected: true })

/** Returns the result for a faulty item. `member` is the JSON pointer of the fault within the item. */
export const faulty = (reason: string, member?: string): Skipped => ({
  reason,
  expected: false,
  ...(member === undefined ? {} : { member }),
})

/** The items of a body, and the JSON pointer of their list; undefined if the body itself is the only item. */
export interface Items {
  readonly items: ReadonlyArray<unknown>
  readonly list: string | undefined
}

/** The result for a body without items, such as a probe or a handshake. */
export const noItems: Normalized = { items: 0, events: [], skipped: [] }

/**
 * Returns the items of parsed JSON: the elements of a list, or of the first of `wrappers` that is a list; otherwise the
 * value itself.
 */
export const itemsOf = (json: unknown, wrappers: ReadonlyArray<string> = []): Items => {
  if (Array.isArray(json)) return { items: json, list: "" }
  if (isItem(json)) {
    for (const key of wrappers) {
      const items = json[key]
      if (Array.isArray(items)) return { items, list: `/${key}` }
    }
  }
  return { items: [json], list: undefined }
}

// A reason may quote a control character or a lone surrogate of the body.
// deno-lint-ignore no-control-regex
const printable = (text: string) => text.toWellFormed().replaceAll(/[\u0000-\u001f\u007f]/g, "\ufffd")

/** Parses a body as JSON, or returns why it is not JSON, for the person who configured the platform `name`. */
export const jsonOf = (body: Uint8Array, name: string): { readonly json: unknown } | NotUnderstood => {
  if (isBlank(body)) {
    return {
      reason: `The body is empty: a test of the address, or a webhook set up without content; ${name} sends JSON`,
    }
  }
  const parsed = parseJson(body)
  return "json" in parsed ? parsed : { reason: printable(parsed.reason) }
}

/**
 * Normalizes the user of an event if it is an address. Returns a fault if the event suppresses no one because its only
 * address is invalid.
 */
const withAddress = (outcome: ReadItem): ReadItem => {
  if (!("event" in outcome)) return outcome
  const { email, event, messageKey, otherChannel, trackingId, user } = outcome
  if (user === undefined || !user.includes("@")) return outcome
  const address = readAddress(user)
  const isLost = address === undefined && email === undefined && trackingId === undefined && messageKey === undefined &&
    isSuppressing(event) && otherChannel !== true
  if (isLost) return faulty(unreadableAddress(user))
  return address === undefined || address === user ? outcome : { ...outcome, user: address }
}

/** Returns the fault of an event with an invalid address. */
export const unreadableAddress = (text: string): string =>
  `names ${
    JSON.stringify(text.slice(0, 100).toWellFormed())
  }, which is not one e-mail address: send it as ann@shop.example`

/**
 * Reads every item separately, so that a bad item does not affect other items, and counts each item once. With
 * `areJudged`, the result also contains the positions of skipped items.
 */
export const collectAt = <A>(
  items: ReadonlyArray<A>,
  pointerOf: (item: A, place: number) => string,
  read: (item: A) => ReadItem,
  areJudged = false,
): Normalized => {
  const skippedAt: Array<number> = []
  const incomplete: Array<IncompleteItem> = []
  const events: Array<NormalizedEvent> = []
  const skipped: Array<SkippedItem> = []
  const profiles: Array<ProfileUpdate> = []
  const erasures: Array<ErasureRequest> = []
  for (let i = 0; i < items.length; i++) {
    const item = items[i]!
    const outcome = withAddress(filledIn(read(item), item))
    if ("event" in outcome) {
      events.push(outcome)
      for (const { member, reason } of outcome.faults ?? []) {
        incomplete.push({ pointer: pointerOf(item, i) + member, reason, event: events.length - 1 })
      }
    } else if ("profile" in outcome) profiles.push(outcome.profile)
    else if ("erasure" in outcome) erasures.push(outcome.erasure)
    else {
      skipped.push({ pointer: pointerOf(item, i), ...outcome })
      skippedAt.push(i)
    }
  }
  return {
    items: items.length,
    events,
    skipped,
    ...(areJudged ? { skippedAt } : {}),
    ...(incomplete.length > 0 ? { incomplete } : {}),
    ...(profiles.length > 0 ? { profiles } : {}),
    ...(erasures.length > 0 ? { erasures } : {}),
  }
}

/** Like `collectAt`, for the items of one list, or for a body that is a single item. */
export const collect = (
  { items, list }: Items,
  read: (item: unknown) => ReadItem,
  areJudged = false,
): Normalized => collectAt(items, (_, i) => list === undefined ? "" : `${list}/${i}`, read, areJudged)
