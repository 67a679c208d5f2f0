import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { dayMillis } from "../../src/bandit/Window.ts"
import { makePartitions, partitionedTables } from "../../src/journal/retention/Partitions.ts"

export const org = "bench"

/**
 * Shares per decision: decisions with a caller's tracking id, reported events, and messages with a linked message id of
 * the platform.
 */
export const mix = { given: 0.5, delivered: 1, open: 0.3, click: 0.05, linked: 0.5, eventsPerBody: 10 }

/** Creates the partitions of a service that has run for `days` days. */
export const preparePartitions = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, days: number) {
  for (const one of partitionedTables) {
    yield* makePartitions(sql, one, Date.now() - days * dayMillis)
    yield* makePartitions(sql, one, Date.now())
  }
  // Marks background work as done, so that the service does not process the stored rows.
  yield* sql`INSERT INTO send_time_marks (org_slug, settled_until) VALUES (${org}, now())`
  yield* sql`
    INSERT INTO upkeep_runs (job, due_at) VALUES ('prepare', now() + interval '1 day'), ('remove', now() + interval '1 day')`
})

/**
 * Adds the decisions with the numbers `from` to `to` and their related rows, spread evenly over the last `days` days.
 */
export const fill = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, from: number, to: number, days: number) {
  const step = 100_000
  const now = Date.now()
  // The time of a decision depends only on its number, not on the total.
  const at = sql`to_timestamp(${now / 1000}::float8 - 60 - (i * 7919::bigint % 1000003) / 1000003.0 * ${
    days * 86_400
  }::float8)`
  for (let first = from; first < to; first += step) {
    const last = Math.min(to, first + step) - 1
    yield* sql`
      WITH d AS MATERIALIZED (
        SELECT i, ${at} AS at, gen_random_uuid()::text AS id, i % 100 < ${100 * mix.given}::int AS given
        FROM generate_series(${first}::bigint, ${last}::bigint) AS i
      ), made AS (
        INSERT INTO decisions (org_slug, tracking_id, template_id, copy_id, user_id, mode, propensity, weights, segment,
          policy, decided_at)
        SELECT ${org}, d.id, 'welcome', 'v' || d.i % 5, 'u' || d.i % 100000, 'bandit', 0.2,
          '{"v0":0.2,"v1":0.2,"v2":0.2,"v3":0.2,"v4":0.2}', 'daypart=morning&weekend=weekday', 'welcome:0', d.at FROM d
      ), keys AS (
        INSERT INTO decision_keys (key, org_slug, decided_at) SELECT gen_random_uuid(), ${org}, d.at FROM d WHERE d.given
      ), links AS (
        INSERT INTO attribution_links (org_slug, source, message_key, tracking_id, created_at)
        SELECT ${org}, 'provider_a', gen_random_uuid()::text, d.id, d.at FROM d WHERE d.i % 100 < ${
      100 * mix.linked
    }::int
      ), bodies AS (
        INSERT INTO inbox (org_slug, source, received_at, headers, body, status, events, duplicates, ignored)
        SELECT ${org}, 'provider_a', d.at, '{"content-type":"application/json"}',
          convert_to((SELECT string_agg('{"event":"delivered","tracking_id":"' || gen_random_uuid() || '","user_id":"u' || n
            || '","event_id":"' || gen_random_uuid() || '","timestamp":"2026-11-21T10:00:00Z"}', ',')
            FROM generate_series(1, ${mix.eventsPerBody}::int) n WHERE d.i IS NOT NULL), 'UTF8'),
          'done', ${mix.eventsPerBody}::int, 0, 0
        FROM d WHERE d.i % 1000 < 1000 * ${(mix.delivered + mix.open + mix.click) / mix.eventsPerBody}::float8
      )
      INSERT INTO events (org_slug, source, event_key, template_id, tracking_id, user_id, inbox_id, event, occurred_at,
        received_at, automated, link, status)
      SELECT ${org}, 'provider_a', 'id:' || gen_random_uuid(), 'welcome', d.id, 'u' || d.i % 100000, d.i, e.event,
        d.at + interval '1 minute', d.at + interval '1 minute', false,
        CASE WHEN e.event = 'click' THEN 'https://shop.example/offer/' || d.i % 97 END, 'attributed'
      FROM d CROSS JOIN LATERAL (VALUES ('delivered', 100 * ${mix.delivered}::float8), ('open', 100 * ${mix.open}::float8),
        ('click', 100 * ${mix.click}::float8)) AS e(event, share)
      WHERE d.i % 100 < e.share`
  }
  for (const { table } of partitionedTables) yield* sql.unsafe(`VACUUM ANALYZE ${table}`)
  for (const table of ["decision_keys", "attribution_links"]) yield* sql.unsafe(`VACUUM ANALYZE ${table}`)
  yield* sql`CHECKPOINT`
})

/** Returns the rows and bytes (table and indexes) of each table that grows with decisions, over all partitions. */
export const sizes = (sql: SqlClient.SqlClient) =>
  sql<{ readonly name: string; readonly rows: number; readonly heap: number; readonly indexes: number }>`
    SELECT t.name, sum(greatest(c.reltuples, 0))::float8 AS rows, sum(pg_table_size(c.oid))::float8 AS heap,
      sum(pg_indexes_size(c.oid))::float8 AS indexes
    FROM unnest(ARRAY['decisions', 'decision_keys', 'events', 'attribution_links', 'inbox']) WITH ORDINALITY AS t(name, n)
    JOIN pg_class c ON c.relkind = 'r' AND (c.oid = t.name::regclass
      OR c.oid IN (SELECT p.relid FROM pg_partition_tree(t.name::regclass) AS p))
    GROUP BY t.name, t.n ORDER BY t.n`

/**
 * Returns the number of database blocks read so far. It measures the cost of requests independently of other load on
 * this machine.
 */
export const blocks = (sql: SqlClient.SqlClient) =>
  Effect.map(
    Effect.andThen(
      sql`SELECT pg_stat_clear_snapshot()`,
      sql<{ readonly n: number }>`
        SELECT (sum(coalesce(heap_blks_hit, 0) + coalesce(heap_blks_read, 0) + coalesce(idx_blks_hit, 0)
          + coalesce(idx_blks_read, 0)))::float8 AS n FROM pg_statio_user_tables`,
    ),
    ([row]) => row!.n,
  )
