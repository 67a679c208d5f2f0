import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Outbox, type Settled } from "../../src/delivery/Outbox.ts"
import type { TemplateId } from "../../src/domain/Ids.ts"
import type { BounceEvent } from "../../src/domain/refusals/BounceEvent.ts"
import { org } from "../intake/support.ts"

// Results of messages, and steps of an owner of a lane.

const templateId = "t" as TemplateId

/** A message that was sent. */
export const sent = (id: string, more: Partial<Settled> = {}) =>
  ({ id, templateId, connection: "main", _tag: "sent", messageId: `m-${id}`, links: [], ...more }) as Settled

/** A message that failed. */
export const failed = (id: string, reason = "refused", event?: BounceEvent): Settled => ({
  id,
  templateId,
  connection: "main",
  _tag: "failed",
  reason,
  burned: true,
  ...(event === undefined ? {} : { event }),
})

/** A message that is due again. `burned`: whether an attempt began. */
export const again = (id: string, burned: boolean, delayMillis = 0): Settled => ({
  id,
  templateId,
  connection: "main",
  _tag: "again",
  reason: "later",
  delayMillis,
  burned,
})

/** Lets the lease of a lane end `seconds` from now, as without a renewal. */
export const leaseEnds = Effect.fnUntraced(function* (slug: string, seconds: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    UPDATE dispatch_lanes l SET lease_until = now() + ${seconds}::float8 * interval '1 second'
    WHERE l.org_slug = ${slug}`
})

/** Takes the lane of an organization. */
export const take = Effect.fnUntraced(function* (slug: string, owner = "one") {
  return (yield* (yield* Outbox).take(org(slug), owner))!
})
