import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { dayMillis } from "../../src/bandit/Window.ts"
import { makePartitions, partitionedTables } from "../../src/journal/retention/Partitions.ts"

export const org = "acme-retail"

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
    INSERT INTO upkeep_runs (job, due_at) VALUES ('prepare', now() + interval '1 day'), ('remove', now() + interval '1 day'),
      ('indexes', now() + interval '1 day')`
})

/** SQL functions of a sample organization: tracking ids of version 7, and the model's probabilities in a context. */
const sampleFunctions = (sql: SqlClient.SqlClient) =>
  Effect.andThen(
    sql`
    CREATE OR REPLACE FUNCTION bench_id(at timestamptz) RETURNS text LANGUAGE sql VOLATILE AS $$
      SELECT export_first_id(at) || '-7' || substr(gen_random_uuid()::text, 16) $$`,
    sql`
    CREATE OR REPLACE FUNCTION bench_weights(seed text) RETURNS json LANGUAGE sql IMMUTABLE AS $$
      SELECT ('{' || string_agg('"' || v || '":0.' || lpad((('x' || left(md5(seed || v), 15))::bit(60)::bigint % 100000000)::text, 8, '0'), ',') || '}')::json
      FROM unnest(ARRAY['control', 'free-shipping', 'ten-percent-off', 'last-chance', 'social-proof']) v $$`,
  )

/**
 * Adds the decisions with the numbers `from` to `to` and their related rows in order of time, spread evenly over the
 * last `days` days. Ids, contexts and probabilities have the lengths and the repetition of a shop that sends mail.
 */
export const fill = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, from: number, to: number, days: number) {
  yield* sampleFunctions(sql)
  const step = 5_000
  const now = Date.now() / 1000 - 60
  const at = sql`to_timestamp(${now}::float8 - ${days * 86_400}::float8 * (1 - (i - ${from}::bigint) / ${
    to - from
  }::float8))`
  for (let first = from; first < to; first += step) {
    const last = Math.min(to, first + step) - 1
    yield* sql`
      WITH d AS MATERIALIZED (
        SELECT n.i, n.at, n.given, n.hash, CASE WHEN n.given THEN gen_random_uuid()::text ELSE bench_id(n.at) END AS id,
          md5((n.hash % 100000)::text)::uuid::text AS user_id,
          'country=' || (ARRAY['de', 'fr', 'us', 'gb'])[1 + n.hash % 4] || '&daypart=' || (ARRAY['morning', 'evening'])[1 + n.hash % 2]
            || '&plan=' || (ARRAY['free', 'pro', 'team'])[1 + n.hash % 3] || '&weekend=weekday' AS segment,
          'welcome:' || n.i / 1000 AS policy
        FROM (
          SELECT i, ${at} AS at, i % 100 < ${100 * mix.given}::int AS given, abs(hashint8(i)) AS hash
          FROM generate_series(${first}::bigint, ${last}::bigint) AS i) n
      ), made AS (
        INSERT INTO decisions (org_slug, tracking_id, template_id, copy_id, user_id, mode, propensity, weights, segment,
          further, policy, decided_at)
        SELECT ${org}, d.id, 'welcome', (ARRAY['control', 'free-shipping', 'ten-percent-off', 'last-chance', 'social-proof'])[1 + d.hash % 5],
          d.user_id, 'bandit', random(), bench_weights(d.policy || d.segment), d.segment,
          'age=25-34&device=' || (ARRAY['ios', 'android'])[1 + d.hash % 2], d.policy, d.at FROM d
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
      SELECT ${org}, 'provider_a', gen_random_uuid(), 'welcome', d.id, d.user_id,
        (d.i * ${mix.delivered + mix.open + mix.click}::float8 / ${mix.eventsPerBody}::float8)::bigint, e.event,
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

/** A column or index of a table that grows with decisions. */
export interface Part {
  readonly name: string
  readonly part: string
  /** Bytes for a row: the average of a column, or the size of an index divided by the rows. */
  readonly bytes: number
}

/** Returns the bytes of a row by column and index, without tuple headers and alignment, over all partitions. */
export const parts = (sql: SqlClient.SqlClient) =>
  Effect.map(
    Effect.forEach(["decisions", "decision_keys", "events", "attribution_links"], (name) =>
      Effect.all([
        Effect.flatMap(
          sql<{ readonly part: string }>`
            SELECT a.attname AS part FROM pg_attribute a WHERE a.attrelid = ${name}::regclass AND a.attnum > 0
              AND NOT a.attisdropped ORDER BY a.attnum`,
          (columns) =>
            sql.unsafe<Part>(
              columns.map(({ part }) =>
                `SELECT '${name}' AS name, '${part}' AS part, coalesce(sum(pg_column_size(t.${part})), 0) / count(*)::float8 AS bytes
                FROM ${name} t`
              ).join(" UNION ALL "),
            ),
        ),
        sql<Part>`
          SELECT ${name}::text AS name, substring(pg_get_indexdef(i.indexrelid) FROM 'USING (.*)$') AS part,
            sum(pg_relation_size(i.indexrelid))::float8 / (SELECT greatest(sum(r.reltuples), 1) FROM pg_class r
              JOIN pg_partition_tree(${name}::regclass) t ON t.relid = r.oid WHERE t.isleaf)::float8 AS bytes
          FROM pg_index i JOIN pg_partition_tree(${name}::regclass) p ON p.relid = i.indrelid AND p.isleaf
          GROUP BY 2 HAVING sum(pg_relation_size(i.indexrelid)) > 1000000 ORDER BY 3 DESC`,
      ])),
    (all) => all.flat(2).filter(({ bytes }) => bytes >= 0.5),
  )

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
