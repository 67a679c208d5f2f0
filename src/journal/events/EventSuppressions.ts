import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { NormalizedEvent } from "../../domain/Event.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { organizationRows } from "../../organizations/OrganizationRows.ts"
import { emailsOf } from "../../profiles/ProfileRows.ts"
import { addressKey } from "../../suppressions/AddressKey.ts"
import type { OnSuppressed } from "../../suppressions/OnSuppressed.ts"
import {
  type AddressActivity,
  addSuppressions,
  applyOptIns,
  clearSoftBounces,
  countSoftBounces,
  lockSuppressions,
  withSoftBounces,
} from "../../suppressions/SuppressionStore.ts"
import { eventKinds, isSuppressing } from "../../domain/EventKinds.ts"

/** An event that was just stored or just attributed to its decision. */
interface Reported extends
  Pick<
    NormalizedEvent,
    "event" | "user" | "occurredAt" | "automated" | "email" | "otherChannel" | "group" | "optIn" | "unproven"
  > {
  readonly org: string
  readonly source: string
  /** The users of its decisions. Deliver stores the address as the user. */
  readonly recipients: ReadonlyArray<string>
}

type Kind = Pick<Reported, "automated" | "event" | "optIn" | "otherChannel" | "unproven">

const isArrival = ({ automated, event }: Kind): boolean =>
  eventKinds[event].provesAddress === true && (eventKinds[event].category === "delivery" || !automated)

const isAgainst = ({ event, otherChannel, unproven }: Kind): boolean =>
  isSuppressing(event) && otherChannel !== true && unproven !== true

/** Whether an event may change the suppression list. */
export const bearsOnSuppression = (event: Kind): boolean => isArrival(event) || isAgainst(event) || event.optIn === true

/** Matches every group: an opt-out of any group counts for all e-mail. */
export const anyGroup = "*"

/** Whether a group, or one of several groups separated by commas, is in a list. Ignores case. */
export const isListed = (group: string, listed: ReadonlyArray<string>): boolean => {
  const names = new Set([group, ...group.split(",")].map((name) => name.trim().toLowerCase()))
  return listed.some((name) => name === anyGroup || names.has(name.toLowerCase()))
}

/**
 * Returns the events that concern all e-mail of their organizations: opt-outs and opt-ins of a group only if the
 * organization lists the group.
 */
const withoutOtherGroups = Effect.fnUntraced(function* <E extends Reported>(
  sql: SqlClient.SqlClient,
  events: ReadonlyArray<E>,
): Effect.fn.Return<ReadonlyArray<E>, SqlError> {
  const orgs = new Set(events.flatMap(({ group, org }) => group === undefined ? [] : [org]))
  if (orgs.size === 0) return events
  const rows = yield* sql<{ slug: string; groupOptOuts: ReadonlyArray<string> }>`
    SELECT o.slug, o.group_opt_outs FROM ${sql.literal(organizationRows("group_opt_outs"))}
    WHERE o.slug IN ${sql.in([...orgs])}`
  const listed = new Map(rows.map(({ groupOptOuts, slug }) => [slug, groupOptOuts]))
  return events.filter(({ group, org }) => group === undefined || isListed(group, listed.get(org) ?? []))
})

/** Returns the distinct addresses in an event and in its decisions. */
const addressesOf = ({ email, recipients, user }: Reported): ReadonlyArray<string> => [
  ...new Set([email, user, ...recipients].flatMap((name) => name === undefined ? [] : addressKey(name) ?? [])),
]

/** Returns the addresses in the profiles of users whose id is no address, in the order of `events`. */
const profileAddresses = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  events: ReadonlyArray<Reported>,
): Effect.fn.Return<ReadonlyArray<ReadonlyArray<string>>, SqlError> {
  const found: Array<Array<string>> = events.map(() => [])
  const users = events.flatMap(({ org, recipients, user }, place) =>
    [...new Set([...(user === undefined ? [] : [user]), ...recipients])].map((user_id) => ({
      place,
      org_slug: org,
      user_id,
    }))
  )
  if (users.length === 0) return found
  for (const { email, place } of yield* emailsOf(sql, users)) found[place]!.push(email)
  return found
})

/**
 * Suppresses the addresses of bounces, complaints and unsubscribes, lifts unsubscribes after later opt-ins, and counts
 * soft bounces. Uses the address in the event, or the recipient's address, or otherwise the address in the user's
 * profile. Call this in the transaction that stores the events, after all its other locks. Returns the suppressing
 * events without any known address.
 */
export const suppressByEvents = Effect.fnUntraced(function* <E extends Reported>(
  sql: SqlClient.SqlClient,
  events: ReadonlyArray<E>,
): Effect.fn.Return<ReadonlyArray<E>, SqlError, OnSuppressed> {
  const arrivals = events.filter(isArrival).flatMap((event): ReadonlyArray<AddressActivity> =>
    addressesOf(event).map((address) => ({ org: event.org as OrgSlug, address, at: event.occurredAt }))
  )
  const cleared = yield* withSoftBounces(sql, arrivals)
  const against = yield* withoutOtherGroups(sql, events.filter((event) => isAgainst(event) || event.optIn === true))
  if (cleared.length + against.length === 0) return []
  yield* lockSuppressions(sql, [...cleared, ...against].map(({ org }) => org))
  yield* clearSoftBounces(sql, cleared)
  if (against.length === 0) return []
  const named = against.map(addressesOf)
  const unnamed = against.filter((_, i) => named[i]!.length === 0)
  const byProfile = yield* profileAddresses(sql, unnamed)
  const found = against.flatMap((event, i) => {
    const addresses = named[i]!.length > 0 ? named[i]! : byProfile[unnamed.indexOf(event)]!
    return addresses.map((address) => ({
      event: event.event,
      org: event.org as OrgSlug,
      address,
      source: event.source,
      at: event.occurredAt,
      isOptIn: event.optIn === true,
    }))
  })
  // Opt-ins come first, so that an older opt-out among these events cancels no message.
  yield* applyOptIns(sql, found.filter(({ isOptIn }) => isOptIn))
  const all = found.filter(({ isOptIn }) => !isOptIn)
  yield* countSoftBounces(sql, all.filter(({ event }) => eventKinds[event].suppressesRepeated === true))
  yield* addSuppressions(
    sql,
    all.flatMap(({ event, ...one }) => {
      const { suppresses: reason, suppressesRepeated } = eventKinds[event]
      return reason === undefined || suppressesRepeated === true ? [] : [{ ...one, reason }]
    }),
  )
  return unnamed.filter((event, i) => byProfile[i]!.length === 0 && event.optIn !== true)
})
