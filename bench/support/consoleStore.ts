import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { bucketAt, dayMillis, hourMillis } from "../../src/bandit/Window.ts"
import { replaceHistories } from "../../src/sendtime/Histories.ts"
import { encode, epochMillis, noEngagement, variantCode } from "../../src/sendtime/Touch.ts"

// The data of bench/console.ts: an organization with half a year of traffic, written in bulk.

/** The organization of the benchmark. */
export const org = "bench"

/** Number of variants of each template. The busiest template has twice as many, and learns from the region as well. */
export const variants = 5

/** Amounts of data. */
export interface Size {
  readonly templates: number
  readonly decisions: number
  /** Number of events in the tallies. The latest events are also stored individually, one for each decision. */
  readonly talliedEvents: number
  readonly inbox: number
  readonly deliveries: number
}

/** Number of outcomes for each decision in the tallies. */
const rates = { sent: 1, delivered: 0.98, open: 0.4, click: 0.1, conversion: 0.02 }
const eventsPerDecision = Object.values(rates).reduce((a, b) => a + b, 0)

/** A person who gets every two hundredth message. Other people get ten messages each. */
export const busyUser = "u-busy"

const tiers = ["gold", "none", "silver"]
const regions = ["east", "north", "south", "west"]
const dayparts = ["night", "morning", "afternoon", "evening"]
const weekends = ["weekday", "weekend"]

/** Returns the attributes of users. The busiest template also has the region (`wide`). */
const people = (wide: boolean): ReadonlyArray<ReadonlyArray<readonly [name: string, value: string]>> =>
  tiers.flatMap((tier) =>
    (wide ? regions : [undefined]).map((region) => [
      ["tier", tier] as const,
      ...(region === undefined ? [] : [["region", region] as const]),
    ])
  )

/** Returns the buckets of half a year with their segments. An hour has only segments of one part of the day. */
const placesAt = (now: number, wide: boolean): ReadonlyArray<{ readonly start: string; readonly segment: string }> => {
  const buckets = new Map<number, number>()
  for (let at = now - 170 * dayMillis; at <= now; at += hourMillis) {
    const { end, start } = bucketAt(at, now)
    buckets.set(start, end)
  }
  return [...buckets].flatMap(([start, end]) => {
    const parts = end - start > hourMillis ? dayparts : [dayparts[Math.floor(start / hourMillis) % 24 / 6 | 0]!]
    const days = end - start > dayMillis ? weekends : [weekends[Math.floor(start / dayMillis + 3) % 7 < 5 ? 0 : 1]!]
    return people(wide).flatMap((person) =>
      parts.flatMap((daypart) =>
        days.map((weekend) => ({
          start: new Date(start).toISOString(),
          segment: encodeContext([...person, ["daypart", daypart], ["weekend", weekend]]),
        }))
      )
    )
  })
}

/** Returns the attribute counts of the requests of one day. */
const attributeCountsOf = (wide: boolean): string => {
  const key = (name: string, values: ReadonlyArray<string>) => [name, 900, values.map((value) => [value, 200])]
  return JSON.stringify({ sends: 1000, keys: [key("tier", tiers), ...(wide ? [key("region", regions)] : [])] })
}

const body = JSON.stringify([
  { event: "delivered", tracking_id: "m-1", event_id: "e-1" },
  { event: "open", tracking_id: "m-1", event_id: "e-2" },
])

const message = {
  subject: "Hi {{ name }}, an offer for you",
  preheader: "Only in {{ city | upcase }} today",
  body: `<h1>Dear {{ name | default: 'friend' }}</h1>${"<p>We picked {{ product }} for you, and more.</p>".repeat(20)}`,
}
const sent = {
  subject: "Hi Ann, an offer for you",
  preheader: "Only in OSLO today",
  body: `<h1>Dear Ann</h1>${"<p>We picked boots for you, and more.</p>".repeat(20)}`,
}
const formats = JSON.stringify({ body: "html" })

/** Fills an empty store. No service may use it at this time. */
export const fillStore = (sql: SqlClient.SqlClient, size: Size) =>
  Effect.gen(function* () {
    const now = Date.now()
    const at = new Date(now)
    const counts = { templates: size.templates, people: Math.max(1, Math.floor(size.decisions / 10)) }
    yield* sql`SELECT setseed(0.5)`
    yield* sql`
      INSERT INTO organizations (slug, name, time_zone, created_at, updated_at)
      VALUES (${org}, 'Harbour Books', 'Europe/Berlin', ${at}, ${at})`
    yield* sql`
      INSERT INTO templates (org_slug, id, name, created_at, updated_at)
      SELECT ${org}, 't-' || i, 'Message ' || i || ' of the season', ${at}::timestamptz - i * interval '1 hour',
        ${at}::timestamptz - i * interval '1 hour'
      FROM generate_series(1, ${counts.templates}::int) AS i`
    yield* sql`
      INSERT INTO variants (org_slug, template_id, id, name, vars, formats, created_at, updated_at)
      SELECT ${org}, 't-' || i, 'v' || v, 'Variant ' || v, ${JSON.stringify(message)}::text::json,
        ${formats}::text::json, ${at}, ${at}
      FROM generate_series(1, ${counts.templates}::int) AS i
      CROSS JOIN LATERAL generate_series(1, CASE WHEN i = 1 THEN 2 ELSE 1 END * ${variants}::int) AS v`
    // The first template has the most traffic, the second template half as much, the third a third, and so on.
    const harmonic = Array.from({ length: size.templates }, (_, i) => 1 / (i + 1)).reduce((a, b) => a + b, 0)
    const busiest = size.talliedEvents / eventsPerDecision / harmonic
    for (const wide of [true, false]) {
      const places = placesAt(now, wide)
      const each = wide ? 2 * variants : variants
      yield* sql`
        INSERT INTO tallies (org_slug, template_id, copy_id, segment, bucket_start, track, decisions, sent, delivered, open,
          click, other, conversion, bounce, soft_bounce, failed, unsubscribe, spam, negative, voided)
        SELECT ${org}, 't-' || i, 'v' || v, p.segment, p.start, 'learned', n.count, n.count,
          floor(n.count * ${rates.delivered}::float8 + random())::int, floor(n.count * ${rates.open}::float8 + random())::int,
          floor(n.count * ${rates.click}::float8 * (0.7 + 0.1 * v) + random())::int, 0,
          floor(n.count * ${rates.conversion}::float8 + random())::int, 0, 0, 0, 0, 0, 0, 0
        FROM generate_series(${wide ? 1 : 2}::int, ${wide ? 1 : counts.templates}::int) AS i
        CROSS JOIN generate_series(1, ${each}::int) AS v
        CROSS JOIN json_to_recordset(${JSON.stringify(places)}::text::json) AS p(start timestamptz, segment text)
        CROSS JOIN LATERAL (
          SELECT floor(${busiest / each / places.length}::float8 / i + random())::int AS count
        ) AS n
        WHERE n.count > 0`
    }
    yield* sql`
      INSERT INTO daily_decisions (org_slug, template_id, day, copy_id, decisions)
      SELECT t.org_slug, t.template_id, date_bin('1 day', t.bucket_start, 'epoch'), t.copy_id, sum(t.decisions)
      FROM tallies t WHERE t.bucket_start >= ${at}::timestamptz - interval '14 days' GROUP BY 1, 2, 3, 4`
    yield* sql`
      INSERT INTO delay_tallies (org_slug, template_id, outcome, hour, delay_class, count)
      SELECT ${org}, 't-' || i, o.outcome, date_trunc('hour', ${at}::timestamptz) - h * interval '1 hour', c, n.count
      FROM generate_series(1, 1) AS i CROSS JOIN generate_series(1, 240) AS h
      CROSS JOIN (VALUES ('open', ${rates.open}::float8), ('click', ${rates.click}), ('conversion', ${rates.conversion}))
        AS o(outcome, rate)
      CROSS JOIN generate_series(0, 9) AS c
      CROSS JOIN LATERAL (
        SELECT floor(${busiest / 170 / 24}::float8 * o.rate / i / 2 ^ (c + 1) + random())::int AS count
      ) AS n
      -- Of the busiest one: every template that is fitted at the start reads those of all others.
      WHERE n.count > 0`
    yield* sql`
      INSERT INTO attribute_counts (org_slug, template_id, day, counts)
      SELECT ${org}, 't-' || i, date_trunc('day', ${at}::timestamptz),
        CASE WHEN i = 1 THEN ${attributeCountsOf(true)}::text ELSE ${attributeCountsOf(false)}::text END::json
      FROM generate_series(1, ${counts.templates}::int) AS i`
    yield* sql`
      INSERT INTO bandit_states (org_slug, template_id, revision, folded_at, rolled_up_at)
      SELECT ${org}, 't-' || i, 1, ${at}, ${at} FROM generate_series(1, ${counts.templates}::int) AS i`
    const step = 100_000
    for (let first = 0; first < size.decisions; first += step) {
      const last = Math.min(size.decisions, first + step) - 1
      yield* sql`
        INSERT INTO decisions (org_slug, tracking_id, template_id, copy_id, user_id, mode, propensity, weights, segment,
          policy, decided_at)
        SELECT ${org}, 'm-' || i, 't-' || (1 + i % ${counts.templates}::int), 'v' || (1 + i % ${variants}::int),
          CASE WHEN i % 200 = 0 THEN ${busyUser} ELSE 'u-' || i % ${counts.people}::int END, 'adaptive', 0.2,
          '{"v1":0.2,"v2":0.2,"v3":0.2,"v4":0.2,"v5":0.2}', 'tier=gold', 'bench',
          ${at}::timestamptz - i * (interval '60 days' / ${size.decisions}::int)
        FROM generate_series(${first}::int, ${last}::int) AS i`
      yield* sql`
        INSERT INTO events (org_slug, source, event_key, template_id, tracking_id, user_id, inbox_id, event, occurred_at,
          received_at, automated, link, status)
        SELECT ${org}, 'events', 'id:e-' || i, 't-' || (1 + i % ${counts.templates}::int), 'm-' || i,
          CASE WHEN i % 200 = 0 THEN ${busyUser} ELSE 'u-' || i % ${counts.people}::int END, ${size.inbox}::int - i, e.event,
          e.at, e.at, false, CASE WHEN e.event = 'click' THEN 'https://shop.example/offer/' || i % 97 END, 'attributed'
        FROM generate_series(${first}::int, ${last}::int) AS i
        CROSS JOIN LATERAL (SELECT (ARRAY['delivered', 'open', 'click'])[1 + i % 3] AS event,
          ${at}::timestamptz - i * (interval '60 days' / ${size.decisions}::int) + interval '5 minutes' AS at) AS e`
    }
    yield* sql`
      INSERT INTO profiles (org_slug, user_id, email, traits, reported_at, updated_at)
      SELECT ${org}, 'u-' || i, 'person.' || i || '@example.com', '{"plan":"pro","city":"Oslo"}', '{}', ${at}
      FROM generate_series(0, ${counts.people - 1}::int) AS i`
    yield* sql`
      INSERT INTO inbox (org_slug, source, received_at, headers, body, status, events, duplicates, ignored, faults)
      SELECT ${org}, CASE WHEN i % 2 = 0 THEN 'events' ELSE 'provider_a' END,
        ${at}::timestamptz - (${size.inbox}::int - i) * (interval '2 days' / ${size.inbox}::int),
        '{"content-type":"application/json"}',
        convert_to(${body}, 'UTF8'), CASE WHEN i % 50 = 0 THEN 'partial' ELSE 'done' END, 2, 0, 0,
        CASE WHEN i % 50 = 0 THEN '[{"pointer":"/1","reason":"has no event"}]'::json END
      FROM generate_series(1, ${size.inbox}::int) AS i`
    yield* sql`
      INSERT INTO webhook_sources (org_slug, source, enabled, secrets, settings, created_at, updated_at)
      VALUES (${org}, 'provider_a', true, '[]', '{}', ${at}, ${at})`
    yield* sql`
      INSERT INTO deliveries (org_slug, id, template_id, copy_id, email, vars, formats, state, due_at, queued_at, attempts,
        connection, message_id, reason, finished_at)
      SELECT ${org}, ${"00000000-0000-7000-8000-"} || lpad(to_hex(i), 12, '0'), 't-' || (1 + i % ${counts.templates}::int),
        'v' || (1 + i % ${variants}::int), 'person.' || i % ${counts.people}::int || '@example.com',
        ${JSON.stringify(sent)}::text::json, ${formats}::text::json, d.state, d.at, d.at, 1, 'smtp', 'message-' || i,
        CASE WHEN d.state = 'failed' THEN 'The server answered 550: no such mailbox' END, d.at + interval '1 minute'
      FROM generate_series(1, ${size.deliveries}::int) AS i
      CROSS JOIN LATERAL (SELECT CASE WHEN i % 100 = 0 THEN 'failed' ELSE 'sent' END AS state,
        ${at}::timestamptz - (${size.deliveries}::int - i) * interval '1 minute' AS at) AS d`
    yield* sql`
      INSERT INTO delivery_counts (org_slug, hour, state, count)
      SELECT d.org_slug, date_bin('1 hour', d.finished_at, 'epoch'), d.state, count(*) FROM deliveries d GROUP BY 1, 2, 3`
    yield* sql`
      INSERT INTO delivery_minutes (org_slug, minute, sent, failed, retried, queued, oldest_due_seconds)
      SELECT ${org}, date_bin('1 minute', ${at}::timestamptz, 'epoch') - i * interval '1 minute', 60, 1, 2, i % 500, i % 60
      FROM generate_series(0, 35 * 1440) AS i`
    yield* sql`
      INSERT INTO audit_entries (org_slug, at, actor, action, subject, details)
      SELECT ${org}, ${at}::timestamptz - (20000 - i) * interval '1 minute', 'ada@example.com', 'template changed',
        't-' || (1 + i % ${counts.templates}::int), '{"name":"Another name"}'
      FROM generate_series(1, 20000) AS i`
    yield* sql`
      INSERT INTO accounts (id, email, name, administrator, created_at, updated_at)
      SELECT 'acc_' || i, 'member.' || i || '@example.com', 'Member ' || i, false, ${at}, ${at}
      FROM generate_series(1, 50) AS i`
    yield* sql`
      INSERT INTO memberships (org_slug, account_id, role, created_at)
      SELECT ${org}, 'acc_' || i, 'editor', ${at} FROM generate_series(1, 50) AS i`
    yield* sql`
      INSERT INTO api_keys (id, org_slug, name, scopes, digest, created_at)
      SELECT 'key' || i, ${org}, 'Key ' || i, '{generate,deliver}', md5('a' || i) || md5('b' || i), ${at}
      FROM generate_series(1, 50) AS i`
    // The latest messages of each person, from which send times are learned.
    const today = Math.floor((now - epochMillis) / hourMillis)
    for (let first = 0; first < counts.people; first += 1000) {
      const some = Array.from({ length: Math.min(1000, counts.people - first) }, (_, i) => `u-${first + i}`)
      yield* replaceHistories(
        sql,
        some.map((person, i) => [
          { org, kind: "user", person },
          Float64Array.from({ length: 15 }, (_, n) =>
            encode({
              quarter: 4 * (today - 24 * (4 + n * 9) - (n * 7 + i) % 24),
              delay: (n + i) % 3 === 0 ? 4 * ((i + n * 5) % 48) : noEngagement,
              variant: variantCode(`t-${1 + (i + n) % size.templates}`, `v${1 + n % variants}`),
            }, `${person}/${n}`)).sort(),
        ]),
      )
    }
    // Marks the data for send times as processed, as in a service that runs all the time.
    yield* sql`INSERT INTO send_time_marks (org_slug, settled_until) VALUES (${org}, ${at})`
    yield* sql`ANALYZE`
    const [filled] = yield* sql<{ tallies: number; tallied: number }>`
      SELECT count(*)::float8 AS tallies, sum(t.sent::bigint + t.delivered + t.open + t.click + t.conversion)::float8 AS tallied
      FROM tallies t`
    return filled!
  })

/** Returns the number of templates with a model, and the number of published models so far. */
export const modelsOf = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql<{ count: number; published: number }>`
      SELECT count(*)::int AS count, coalesce(max(m.publication), 0)::float8 AS published
      FROM models m WHERE m.org_slug = ${org}`,
    ([row]) => row!,
  )
