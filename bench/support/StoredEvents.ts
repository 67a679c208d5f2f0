import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { Buffer } from "node:buffer"
import { bodyText, templates, trackingId } from "./Events.ts"

/** The organization of the benchmarks. */
const org = "bench"

/** Stores bodies of events in the inbox. */
export const fill = (
  sql: SqlClient.SqlClient,
  options: { first: number; events: number; perBody: number; decisions: number; base: number },
) =>
  Effect.gen(function* () {
    const { base, decisions, events, first, perBody } = options
    const step = 5000
    for (let at = first; at < first + events; at += step) {
      const rows: Array<{ body: string }> = []
      for (let n = at; n < Math.min(first + events, at + step); n += perBody) {
        rows.push({ body: Buffer.from(bodyText(n, perBody, decisions, base)).toString("base64") })
      }
      yield* sql`
        INSERT INTO inbox (org_slug, source, received_at, headers, body, status)
        SELECT ${org}, 'events', now(), '{"content-type":"application/json"}', decode(r.body, 'base64'), 'pending'
        FROM json_to_recordset(${JSON.stringify(rows)}::text::json) AS r(body text)`
    }
  })

/**
 * Returns the events per second that the database stores with plain inserts of a thousand events in each transaction.
 */
export const bareInserts = (sql: SqlClient.SqlClient, events: number, decisions: number) =>
  Effect.gen(function* () {
    yield* sql`CREATE TABLE bench_events (LIKE events INCLUDING ALL)`
    const begin = performance.now()
    for (let at = 0; at < events; at += 1000) {
      const rows = Array.from({ length: 1000 }, (_, i) => ({
        event_key: `id:e-${at + i}`,
        template_id: `t${i % templates}`,
        tracking_id: trackingId((at + i) % decisions),
        inbox_id: at + i,
        event: "open",
      }))
      yield* sql`
        INSERT INTO bench_events (org_slug, source, event_key, template_id, tracking_id, inbox_id, event, occurred_at,
          received_at, automated, status)
        SELECT ${org}, 'events', r.event_key, r.template_id, r.tracking_id, r.inbox_id, r.event, now(), now(), false,
          'attributed'
        FROM json_to_recordset(${JSON.stringify(rows)}::text::json) AS r(event_key text, template_id text,
          tracking_id text, inbox_id bigint, event text)`
    }
    const perSecond = events / ((performance.now() - begin) / 1000)
    yield* sql`DROP TABLE bench_events`
    return perSecond
  })
