import { assert, describe, layer } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { makeErasureQueue } from "../../src/erasure/ErasureQueue.ts"
import { Erasures } from "../../src/people/Erasures.ts"
import { erasedKinds } from "../../src/erasure/Report.ts"
import { Inbox } from "../../src/journal/inbox/Inbox.ts"
import { Intake } from "../../src/intake/Intake.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { decide, layerQuiet, makeOrg, org, receive, settle, tallies } from "../intake/support.ts"

/** Tables that hold data of people, the one of erasures included. */
const personal = [
  "decisions",
  "events",
  "profiles",
  "sticky_choices",
  "send_times",
  "send_advice",
  "deliveries",
  "attribution_links",
  "attribute_counts",
  "attribute_outcomes",
  "erasures",
  "suppressions",
  "soft_bounces",
  "suppression_removals",
  "sink_messages",
  "outgoing_webhooks",
  "templates",
  "sample_people",
  "test_groups",
  "saved_views",
  "variant_drafts",
  "variant_versions",
]

/** Every text that the store holds of an organization. */
const everything = Effect.fnUntraced(function* (slug: string) {
  const sql = yield* SqlClient.SqlClient
  const texts: Array<string> = []
  for (const table of personal) {
    const rows = yield* sql<{ text: string }>`
      SELECT regexp_replace(row_to_json(t)::text, '"retry_at":"[^"]*"', '') AS text FROM ${
      sql.literal(table)
    } t WHERE t.org_slug = ${slug}`
    texts.push(...rows.map(({ text }) => text))
  }
  const bodies = yield* sql<{ text: string }>`
    SELECT encode(i.body, 'escape') || i.headers::text || coalesce(i.faults::text, '') AS text FROM inbox i
    WHERE i.org_slug = ${slug} AND i.status <> 'pending'`
  return [...texts, ...bodies.map(({ text }) => text)].join("\n")
})

const receiveBytes = Effect.fnUntraced(function* (slug: string, text: string, source = "provider_a") {
  yield* (yield* Inbox).store({ org: org(slug), source, headers: {}, body: new TextEncoder().encode(text) })
})

const insertDelivery = Effect.fnUntraced(function* (slug: string, id: string, email: string, state: string) {
  const sql = yield* SqlClient.SqlClient
  const finished = state === "sent" ? new Date() : null
  yield* sql`
    INSERT INTO deliveries (org_slug, id, template_id, copy_id, email, vars, formats, state, due_at, queued_at, finished_at)
    VALUES (${slug}, ${id}, 't', 'a', ${email}, ${
    JSON.stringify({ body: `Dear ${email}` })
  }::text::json, '{}', ${state},
      now() + interval '1 hour', now(), ${finished}::timestamptz)`
})

const stateOf = (slug: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql<{ id: string; state: string; reason: string | null }>`
      SELECT d.id, d.state, d.reason FROM deliveries d WHERE d.org_slug = ${slug} ORDER BY d.id`)

/** Whom every table knows, in several spellings of the address. */
const furnish = Effect.fnUntraced(function* (slug: string) {
  const sql = yield* SqlClient.SqlClient
  yield* makeOrg(slug)
  yield* decide(slug, "d-id", { user: "ann-17" })
  yield* decide(slug, "d-address", { user: "Ann@Example.com" })
  yield* decide(slug, "mail-ann@example.com", { user: "ann@example.com" })
  yield* decide(slug, "d-other", { user: "bob" })
  yield* decide(slug, "d-similar", { user: "joann@example.com" })
  yield* receive(slug, [{ event: "click", tracking_id: "d-id", user_id: "ann-17", url: "https://x.example/?u=ann-17" }])
  yield* receive(slug, [{ event: "open", tracking_id: "unknown", user_id: "ANN@EXAMPLE.COM" }])
  yield* receive(slug, [{ event: "click", tracking_id: "d-other", user_id: "bob" }])
  yield* (yield* Intake).drain
  yield* sql`
    INSERT INTO profiles (org_slug, user_id, email, traits, reported_at, updated_at)
    VALUES (${slug}, 'ann-17', 'Ann@example.COM', '{}', '{}', now()),
      (${slug}, 'sister', 'ann@example.com', '{}', '{}', now()), (${slug}, 'bob', 'bob@example.com', '{}', '{}', now())`
  for (const [template, user] of [["t", "ann-17"], ["u", "ANN@example.com"], ["u", "bob"]] as const) {
    yield* sql`
      INSERT INTO sticky_choices (org_slug, template_id, user_id, copy_id, tracking_id, expires_at)
      VALUES (${slug}, ${template}, ${user}, 'a', 'x', now() + interval '1 day')`
  }
  for (const person of ["ann-17", "ann@EXAMPLE.com", "bob"]) {
    yield* sql`
      INSERT INTO send_times (org_slug, kind, person, spot, touches) VALUES (${slug}, 'user', ${person}, 1, '')
      ON CONFLICT DO NOTHING`
    yield* sql`
      INSERT INTO send_advice (org_slug, person, copy_id, given_at, advised_at, explored, basis)
      VALUES (${slug}, ${person}, 'a', now(), now(), false, 'all')`
  }
  yield* sql`
    INSERT INTO attribution_links (org_slug, source, message_key, tracking_id, created_at)
    VALUES (${slug}, 'provider_a', 'dispatch:ann-17', 'd-id', now()), (${slug}, 'provider_a', 'k', 'd-other', now())`
  yield* sql`
    INSERT INTO attribute_counts (org_slug, template_id, day, counts)
    VALUES (${slug}, 't', now(), ${
    JSON.stringify({ sends: 1, keys: [["mail", 1, [["ann@example.com", 1]]]] })
  }::text::json),
      (${slug}, 't', now(), '{"sends":1,"keys":[]}')`
  yield* sql`
    INSERT INTO attribute_outcomes (org_slug, template_id, period, name, is_rounded, counts)
    VALUES (${slug}, 't', now(), 'mail', false, ${
    JSON.stringify({ a: { "ann@example.com": [1, 1, 0, 0, 0] } })
  }::text::json),
      (${slug}, 't', now(), 'plan', false, '{"a":{"pro":[1,1,0,0,0]}}')`
  for (const email of ["Ann@EXAMPLE.com", "bob@example.com"]) {
    yield* sql`
      INSERT INTO sink_messages (org_slug, id, template_id, copy_id, email, sender, headers, links, vars, received_at)
      VALUES (${slug}, ${`sunk-${email.slice(0, 3)}`}, 't', 'a', ${email}, 's@example.com', '[]', '[]', '{}', now())`
  }
  yield* sql`
    INSERT INTO webhook_endpoints (org_slug, id, url, description, events, enabled, secrets, created_at, updated_at)
    VALUES (${slug}, 'e', 'https://example.com', '', '{}', true, '[]', now(), now())`
  for (const address of ["ann@example.com", "bob@example.com"]) {
    yield* sql`
      INSERT INTO outgoing_webhooks (org_slug, endpoint_id, id, type, body, address_key, created_at, state, due_at)
      VALUES (${slug}, 'e', ${`evt_${address.slice(0, 3)}`}, 'suppression.added', ${
      JSON.stringify({ address })
    }, ${address},
        now(), 'delivered', now())`
  }
  yield* insertDelivery(slug, "queued", "ann@EXAMPLE.com", "queued")
  yield* insertDelivery(slug, "leaving", "ann@example.com", "sending")
  yield* insertDelivery(slug, "sent", "Ann@example.com", "sent")
  yield* insertDelivery(slug, "theirs", "bob@example.com", "queued")
  for (const owner of ["ann@example.com", "bob@example.com"]) {
    yield* sql`
      INSERT INTO templates (org_slug, id, name, owner, created_at, updated_at)
      VALUES (${slug}, ${`owned-${owner.slice(0, 3)}`}, 'Owned', ${owner}, now(), now())`
  }
  for (
    const [id, user, name, fields] of [
      ["by-id", "ann-17", "A", {}],
      ["by-name", null, "Ann@Example.com", {}],
      ["by-field", null, "B", { to: "Ann <ann@example.com>" }],
      ["other", "bob", "C", { to: "joann@example.com" }],
    ] as const
  ) {
    yield* sql`
      INSERT INTO sample_people (org_slug, id, name, user_id, attrs, fields, created_at, updated_at)
      VALUES (${slug}, ${id}, ${name}, ${user}, '{}', ${JSON.stringify(fields)}::text::json, now(), now())`
  }
  for (
    const [id, emails] of [["mixed", ["ANN@example.com", "bob@example.com"]], ["own", ["ann@example.com"]]] as const
  ) {
    yield* sql`
      INSERT INTO test_groups (org_slug, id, name, emails, created_at, updated_at)
      VALUES (${slug}, ${id}, ${id}, ${[...emails]}::text[], now(), now())`
  }
  for (const [id, email] of [["hers", "ann%40example.com"], ["his", "bob%40example.com"]] as const) {
    yield* sql`
      INSERT INTO saved_views (org_slug, id, list, name, query, updated_at)
      VALUES (${slug}, ${id}, 'deliveries', ${id}, ${`email=${email}&state=failed`}, now())`
  }
  yield* sql`
    INSERT INTO variants (org_slug, template_id, id, name, vars, formats, targeting, seasons, components, active,
      created_at, updated_at)
    VALUES (${slug}, 'owned-bob', 'v', 'V', '{}', '{}', '[]', '[]', '{}', false, now(), now())`
  for (const author of ["ann@example.com", "bob@example.com"]) {
    yield* sql`
      INSERT INTO variant_drafts (org_slug, template_id, variant_id, author, form, saved_at)
      VALUES (${slug}, 'owned-bob', 'v', ${author}, '{}', now())`
    yield* sql`
      INSERT INTO variant_versions (org_slug, template_id, variant_id, name, vars, formats, targeting, seasons,
        components, digest, author, saved_at)
      VALUES (${slug}, 'owned-bob', 'v', 'V', '{}', '{}', '[]', '[]', '{}', '', ${author}, now())`
  }
  yield* sql`
    INSERT INTO audit_entries (org_slug, at, actor, action, subject, details)
    VALUES (${slug}, now(), 'Ann@example.com', 'template changed', 't', '{}')`
  const bodies = [
    '{"to":"Ann <ANN@example.com>"}',
    '{"to":"ann\\u0040example.com"}',
    "u=https%253A%252F%252Fx.example%252F%253Fto%253Dann%2540example.com",
    `${" ".repeat(200_000)}{"id":"ann-17"}`,
    '{"to":"joann@example.com"}',
  ]
  for (const body of bodies) yield* receiveBytes(slug, body)
  yield* (yield* Intake).drain
})

/** Everything that names the person, however it is written. */
const names = /(?<!jo)(ann(@|\\u0040|%2540)example\.com|ann-17)/i

describe("an erasure", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("finds the person in every table and body in any spelling, and reports the erased and the remaining data", () =>
      Effect.gen(function* () {
        yield* furnish("all")
        assert.match(yield* everything("all"), names)
        const erasures = yield* Erasures
        const erasure = yield* erasures.eraseNow({ org: "all", user: undefined, email: "ANN@example.com" })
        const left = yield* everything("all")
        // Keys that callers made stay, and are reported.
        assert.notMatch(left.replaceAll("mail-ann@example.com", ""), names)
        for (const other of ["bob", "joann@example.com"]) assert.include(left, other)
        assert.deepStrictEqual(
          Object.fromEntries(erasedKinds.map((kind) => [kind, erasure[kind]])),
          {
            profiles: 2,
            decisions: 3,
            events: 2,
            deliveries: 3,
            cancelled: 1,
            bodies: 6,
            sticky_choices: 2,
            send_times: 2,
            send_advice: 2,
            message_links: 1,
            attribute_counts: 2,
            sink_messages: 1,
            webhook_events: 1,
            notifications: 0,
            template_owners: 1,
            sample_people: 3,
            test_groups: 2,
            saved_views: 1,
            drafts: 1,
            version_authors: 1,
          },
        )
        assert.deepStrictEqual(
          erasure.kept.map(({ count, kind }) => [kind, count]),
          [
            ["decisions", 3],
            ["events", 2],
            ["deliveries", 3],
            ["deliveries_leaving", 1],
            ["tracking_ids", 1],
            ["audit_entries", 1],
            ["logs_and_backups", null],
          ],
        )
        assert.deepInclude(yield* stateOf("all"), {
          id: "queued",
          state: "cancelled",
          reason: "Cancelled: the recipient was erased",
        })
        assert.deepInclude(yield* stateOf("all"), { id: "theirs", state: "queued", reason: null })
        assert.deepStrictEqual(yield* erasures.find("all", erasure.id), erasure)
        assert.isUndefined(yield* erasures.find("other", erasure.id))
        // Again there is nothing to do.
        const again = yield* erasures.eraseNow({ org: "all", user: "ann-17", email: "ann@example.com" })
        assert.deepStrictEqual(erasedKinds.filter((kind) => again[kind] > 0), [])
      }))

    it.effect("compares user ids exactly, and keeps another user of the same address", () =>
      Effect.gen(function* () {
        yield* furnish("byid")
        yield* decide("byid", "d-upper", { user: "ANN-17" })
        const erasure = yield* (yield* Erasures).eraseNow({ org: "byid", user: "ann-17", email: undefined })
        assert.deepInclude(erasure, { state: "done", profiles: 1, decisions: 3, cancelled: 1 })
        assert.deepInclude(erasure.kept.map(({ count, kind }) => [kind, count]), ["other_profiles", 1])
        const left = yield* everything("byid")
        assert.include(left, "ANN-17")
        assert.include(left, "sister")
      }))

    it.effect("keeps every count, and changes no other organization", () =>
      Effect.gen(function* () {
        yield* furnish("one")
        yield* furnish("two")
        yield* settle("one")
        const counted = yield* tallies("one")
        const other = yield* everything("two")
        yield* (yield* Erasures).eraseNow({ org: "one", user: undefined, email: "ann@example.com" })
        assert.deepStrictEqual(yield* tallies("one"), counted)
        assert.deepStrictEqual((yield* (yield* Rebuild).run(org("one"), { check: true })).differences, [])
        assert.strictEqual(yield* everything("two"), other)
      }))

    it.effect("is stored with the bodies of a platform's request, and processed in one pass for all people", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const erasures = yield* Erasures
        const queue = makeErasureQueue(sql, yield* Clock.Clock)
        yield* furnish("asked")
        const people = Array.from({ length: 2500 }, (_, n) => ({ org: "asked", user: `nobody-${n}`, email: undefined }))
        yield* queue.request([...people, { org: "asked", user: "ann-17", email: undefined }, ...people])
        const requested = yield* sql<{ people: number }>`
          SELECT json_array_length(e.people) AS people FROM erasures e WHERE e.org_slug = 'asked' ORDER BY e.id`
        assert.deepStrictEqual(requested.map(({ people }) => people), [1000, 1000, 501])
        for (const user of ["x", "y"]) yield* queue.request([{ org: "asked", user, email: undefined }])
        yield* erasures.drain
        assert.deepStrictEqual(yield* sql`SELECT e.id FROM erasures e WHERE e.org_slug = 'asked'`, [])
        assert.notMatch(
          (yield* everything("asked")).replace("mail-ann@example.com", "").replace(/sister[^\n]*/, ""),
          names,
        )
      }))

    it.effect("is stopped after three unfinished attempts, and its report is removed later", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const erasures = yield* Erasures
        yield* makeOrg("crashed")
        yield* makeErasureQueue(sql, yield* Clock.Clock).request([{ org: "crashed", user: "x", email: undefined }])
        yield* sql`UPDATE erasures e SET attempts = 3, lease_until = now() WHERE e.org_slug = 'crashed'`
        yield* erasures.drain
        const [row] = yield* sql<{ state: string; reason: string }>`
          SELECT e.state, e.reason FROM erasures e WHERE e.org_slug = 'crashed'`
        assert.strictEqual(row!.state, "failed")
        assert.match(row!.reason, /ended during each/)
        // A failure of the data counts, is reported with its reason, and ends in the third.
        yield* sql`ALTER TABLE decisions ADD CONSTRAINT refused CHECK (copy_id <> 'stuck' OR user_id IS NOT NULL)`
        yield* decide("crashed", "stuck", { copy: "stuck", user: "stuck" })
        const stuck = yield* erasures.eraseNow({ org: "crashed", user: "stuck", email: undefined })
        assert.deepInclude(stuck, { state: "running" })
        assert.match(stuck.reason!, /refused/)
        for (let n = 0; n < 3; n++) yield* Effect.ignore(erasures.drain)
        assert.deepInclude(yield* erasures.find("crashed", stuck.id), { state: "failed" })
        const done = yield* erasures.eraseNow({ org: "crashed", user: "x", email: undefined })
        assert.strictEqual(done.state, "done")
        yield* sql`UPDATE erasures e SET finished_at = now() - interval '31 days' WHERE e.id = ${done.id}`
        yield* erasures.drain
        assert.isUndefined(yield* erasures.find("crashed", done.id))
      }))
  })
})
