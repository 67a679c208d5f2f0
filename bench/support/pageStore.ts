import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Service } from "../../test/support/service.ts"
import { fillStore, org, type Size } from "./consoleStore.ts"

// The data of bench/pages.ts: an organization of usual size, with 1,000 rows in each unlimited list.

const usual: Size = { templates: 40, decisions: 20_000, talliedEvents: 500_000, inbox: 2000, deliveries: 3000 }

/** Number of rows in each unlimited list. */
const rows = 1000

const paragraph =
  "<p>Dear {{ name | default: 'friend' }}, שלום 🎂 <a href=\"https://shop.example/offer\">our offer</a></p>\n"

/** A body of 60 kB with right-to-left text and emoji. */
const body = paragraph.repeat(Math.floor(60_000 / new TextEncoder().encode(paragraph).length))

/** Fills an empty store. No service may use it at this time. Only 40 of the `templates` have large bodies. */
export const fillPages = (templates: number) => (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    yield* fillStore(sql, { ...usual, templates })
    const vars = JSON.stringify({ subject: "Hi {{ name }}, מבצע 🎂 for you", preheader: "Only today", body })
    yield* sql`
      INSERT INTO variants (org_slug, template_id, id, name, vars, formats, created_at, updated_at)
      SELECT v.org_slug, v.template_id, 'v' || n, 'גרסה 🎂 ' || n, v.vars, v.formats, v.created_at, v.updated_at
      FROM variants v CROSS JOIN generate_series(6, 10) AS n WHERE v.id = 'v1' AND v.template_id <> 't-1'
        AND substr(v.template_id, 3)::int <= ${usual.templates}::int`
    yield* sql`
      UPDATE variants v SET vars = ${vars}::text::json WHERE substr(v.template_id, 3)::int <= ${usual.templates}::int`
    yield* sql`
      UPDATE templates t SET name = 'ברוכים הבאים 🎂 ' || t.id, tags = '{חגים 🎂,sales}'
      WHERE right(t.id, 1) IN ('3', '6', '9')`
    yield* sql`
      INSERT INTO api_keys (id, org_slug, name, scopes, digest, created_at)
      SELECT 'more' || i, ${org}, 'Key 🎂 ' || i, '{generate}', md5('c' || i) || md5('d' || i), now()
      FROM generate_series(1, 150) AS i`
    yield* sql`
      INSERT INTO invitations (id, org_slug, email, role, digest, invited_by, created_at, expires_at)
      SELECT 'inv_' || i, ${org}, 'guest.' || i || '@example.com', 'viewer', md5('i' || i), 'ada@example.com', now(),
        now() + interval '7 days' FROM generate_series(1, ${rows}::int) AS i`
    yield* sql`
      INSERT INTO suppressions (org_slug, address_key, reason, source, suppressed_at)
      SELECT ${org}, 'gone.' || i || '@example.com', 'unsubscribe', 'events', now() FROM generate_series(1, ${rows}::int) AS i`
    yield* sql`
      INSERT INTO template_comments (org_slug, template_id, variant_id, author, text, created_at)
      SELECT ${org}, 't-1', 'v1', 'ada@example.com', 'Comment ' || i || ' שלום 🎂', now() - i * interval '1 minute'
      FROM generate_series(1, ${rows}::int) AS i`
  })

/** Adds rows that only the service can create, and copies them. `accountId` is the account that opens the pages. */
export const addRecords = async (
  service: Service,
  accountId: string,
  onStore: <A>(run: (sql: SqlClient.SqlClient) => Effect.Effect<A, unknown>) => Promise<A>,
) => {
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await service.manage(method, `/organizations/${org}${path}`, body)
    if (answer.status > 202) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  await call("POST", "/keys", { name: "Test", kind: "test", scopes: ["generate", "deliver"] })
  for (const name of ["main", "second"]) {
    await call("PUT", `/connections/${name}`, {
      platform: "webhook",
      settings: { url: "https://hooks.example.com/send" },
      secrets: { signing_secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" },
    })
  }
  const endpoint = await call("POST", "/webhook-endpoints", { url: "https://hooks.example.com/events" })
  for (const name of ["One", "Two", "Three"]) await call("PATCH", "/templates/t-2/variants/v1", { name })
  await call("PATCH", "", { template_approval: "editor" })
  const { key } = await call("POST", "/keys", { name: "Pipeline", scopes: ["templates:write"] })
  const proposed = await service.request(`/console/api/organizations/${org}/templates/t-2/variants/v2`, {
    method: "PATCH",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ vars: { subject: "Another subject 🎂" }, formats: {} }),
  })
  if (proposed.status !== 202) throw new Error(`No change waits for approval: ${await proposed.text()}`)
  await onStore((sql) =>
    Effect.gen(function* () {
      yield* sql`
        INSERT INTO template_proposals (org_slug, template_id, author, state, base, proposed, version, created_at, updated_at)
        SELECT p.org_slug, p.template_id, p.author, 'withdrawn', p.base, p.proposed, 1, p.created_at, p.updated_at
        FROM template_proposals p CROSS JOIN generate_series(1, ${rows}::int)`
      yield* sql`
        INSERT INTO variant_versions (org_slug, template_id, variant_id, name, vars, formats, targeting, seasons, components,
          digest, author, saved_at)
        SELECT v.org_slug, v.template_id, v.variant_id, v.name, v.vars, v.formats, v.targeting, v.seasons, v.components,
          md5('' || i), v.author, v.saved_at
        FROM variant_versions v CROSS JOIN generate_series(1, 50) AS i`
      yield* sql`
        INSERT INTO outgoing_webhooks (org_slug, endpoint_id, id, type, body, created_at, state, attempts, due_at, finished_at)
        SELECT ${org}, ${endpoint.id}, 'message-' || i, 'delivery.failed', '{"type":"delivery.failed"}', now(), 'failed', 1,
          now(), now() FROM generate_series(1, ${rows}::int) AS i`
      yield* sql`
        INSERT INTO notifications (org_slug, account_id, kind, data, created_at)
        SELECT ${org}, ${accountId}, 'winner.found', json_build_object('org', ${org}::text, 'template_id',
          't-' || 1 + i % 40, 'copy_id', 'v1', 'verdict', 'winner', 'compared', json_build_array('v1', 'v2'), 'found_at',
          now()), now() - i * interval '1 minute' FROM generate_series(1, ${rows}::int) AS i`
      yield* sql`
        INSERT INTO sink_messages (org_slug, id, template_id, copy_id, email, sender, subject, html, headers, links, vars,
          received_at)
        SELECT o.slug, 'message-' || i, 't-1', 'v1', 'person.' || i || '@example.com', 'news@example.com', 'Hi 🎂 ' || i,
          '<p>Hi</p>', '[]', '[]', '{}', now() FROM organizations o CROSS JOIN generate_series(1, ${rows}::int) AS i
        WHERE o.sandbox_of = ${org}`
      yield* sql`
        INSERT INTO bulk_actions (org_slug, id, kind, filter, requested_by, requested_at, state, matched, changed, worked_at,
          finished_at)
        SELECT ${org}, 'action-' || i, 'retry', '{}', 'ada@example.com', now(), 'done', 47, 47, now(), now()
        FROM generate_series(1, ${rows}::int) AS i`
    })
  )
}
