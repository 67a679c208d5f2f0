import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { longestKey } from "../../src/learning/ContextColumns.ts"
import { emptyEnvironment, layerMigrated } from "../support/stores.ts"

/** Most bytes of a row of a B-tree index. */
const mostBytes = 2704

/** Maximum number of bytes in UTF-8 of so many UTF-16 code units. */
const units = (count: number) => 3 * count

/** Identifiers of callers and people have at most 200 UTF-16 code units: see `Ids.ts` and `nameOf`. */
const id = units(200)

/**
 * Most bytes of every text column that is indexed. A new indexed column belongs here, with the limit that the service
 * itself enforces before it stores the text.
 */
const bounds: Readonly<Record<string, number>> = {
  // The pattern of slugs and of connection names.
  // With the ending of a sandbox, see `sandboxOf`.
  org_slug: 68,
  "organizations.slug": 68,
  "organizations.sandbox_of": 63,
  "connections.name": 63,
  "dkim_keys.connection": 63,
  // A label of DNS.
  "dkim_keys.selector": 63,
  template_id: id,
  "templates.id": id,
  copy_id: id,
  "variants.id": id,
  tracking_id: id,
  user_id: id,
  "send_times.person": id,
  "send_advice.person": id,
  "tracking_aliases.alias": id,
  "deliveries.id": id,
  // 254 UTF-16 code units, see `validateAddress` and `Email`.
  "deliveries.email": units(254),
  // See `addressKey`.
  address_key: units(400),
  "deliveries.split_part(address_key, '@'::text, '-1'::integer)": units(400),
  "accounts.email": units(254),
  "invitations.email": units(254),
  // `lower` makes some letters a byte longer.
  "lower(email)": 1.5 * id,
  // At most 400 UTF-16 code units, see `Audit` and `messageKeyOf`.
  "split_part(subject, ' / '::text, 1)": units(400),
  message_key: units(400),
  // An e-mail address, or the words for a token or key: see `nameOf` of actors.
  "audit_entries.actor": units(254),
  // `member:` and an account id, or `key:` and a key id.
  "template_proposals.author": 60,
  // `member:` and an account id, `key:` and a key id, or an e-mail address: see `nameOf` of actors.
  "variant_drafts.author": units(254),
  "variant_drafts.variant_id": id,
  "variant_versions.variant_id": id,
  "variant_suggestions.id": 16,
  "test_groups.id": id,
  "sample_people.id": id,
  "saved_views.id": id,
  "start_views.view_id": id,
  // See `ListName`.
  "start_views.list": 10,
  "snippets.id": 64,
  "images.id": 64,
  // mail, slack or teams.
  "report_subscriptions.channel": 5,
  // At most 1,024 bytes in S3, and longer ones are left out.
  "bucket_objects.key": 1024,
  snippet_id: 64,
  // `immediate` or `digest`.
  "notifications.mail": 20,
  "service_mails.id": 40,
  // Names of the policy, of endpoints and of refusals.
  "audit_entries.action": 200,
  // `id:` and a name, or `digest:` and a digest.
  event_key: id + 10,
  "tallies.segment": longestKey,
  // See `AttributeCounts` and `ContextRecorder`.
  "attribute_outcomes.name": units(100),
  // A share, the content, and for `fixed` the id of a variant: see `holdoutText`.
  "holdout_tallies.holdout": 40 + id,
  // 12 bytes in base64url, see `Targets`.
  "tracked_links.key": 16,
  // Printable ASCII, see `DeliverRoutes`.
  "idempotency_keys.key": 255,
  "bulk_actions.idempotency_key": 255,
  "sink_messages.id": id,
  // Digests, ids and words of the service's own.
  "accounts.id": 40,
  account_id: 40,
  "bulk_actions.id": 40,
  "test_messages.id": 40,
  "api_keys.id": 16,
  "key_uses.key_id": 16,
  "key_uses.node_id": 64,
  // SHA-256.
  "compiled_sources.digest": 32,
  "invitations.id": 40,
  "invitations.digest": 64,
  "one_time_links.digest": 64,
  "group_roles.id": 40,
  "group_roles.group_name": units(255),
  "passkeys.id": 40,
  // 1,023 bytes in base64url.
  "passkeys.credential_id": 1364,
  "result_shares.digest": 64,
  "result_shares.id": 40,
  "recovery_codes.digest": 64,
  "signing_keys.name": 64,
  "suppression_keys.id": 8,
  "sessions.digest": 64,
  "sessions.id": 40,
  "sign_in_attempts.subject": 80,
  "cluster_nodes.address": 300,
  "cluster_shards.shard_id": 100,
  "upkeep_runs.job": 100,
  // `changes` or `refusals`.
  "audit_chains.log": 10,
  // A template and a variant as JSON, whose escapes take two bytes for a character of one.
  "alerts.subject": 2 * id + 7,
  "alerts.type": 20,
  source: 20,
  reason: 20,
  state: 20,
  track: 20,
  kind: 20,
  outcome: 20,
  "even_split_tallies.measure": 20,
  "propensity_tallies.measure": 20,
  "propensity_tallies.candidates": 22,
  stream: 20,
  "webhook_endpoints.id": 20,
  "outgoing_webhooks.id": 40,
  endpoint_id: 20,
}

interface Indexed {
  readonly table: string
  readonly index: string
  readonly column: string
  readonly type: string
}

/** The size of a value of a type, with its padding. */
const fixed: Readonly<Record<string, number>> = {
  date: 4,
  bigint: 8,
  integer: 8,
  smallint: 8,
  boolean: 8,
  uuid: 16,
  "timestamp with time zone": 8,
}

/** Header of a text of over 126 bytes, with padding. */
const textHeader = 8

/** Header of an index row: a pointer, flags and the bits for NULL. */
const rowHeader = 16

describe("indexes", () => {
  layer(layerMigrated(emptyEnvironment), { excludeTestServices: true })((it) => {
    it.effect("accept the longest texts that the service stores", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const columns = yield* sql<Indexed>`
          SELECT regexp_replace(t.relname, '_(first|other)$', '') AS table, c.relname AS index,
            pg_get_indexdef(i.indexrelid, k.n, true) AS column, format_type(a.atttypid, NULL) AS type
          FROM pg_index i
          JOIN pg_class c ON c.oid = i.indexrelid
          JOIN pg_class t ON t.oid = i.indrelid
          JOIN pg_am m ON m.oid = c.relam AND m.amname = 'btree'
          CROSS JOIN LATERAL generate_series(1, i.indnatts::int) AS k(n)
          JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.n
          WHERE t.relnamespace = 'public'::regnamespace
          ORDER BY 2, k.n`
        const boundOf = ({ column, table, type }: Indexed) =>
          type === "text" || type === "bytea" ? bounds[`${table}.${column}`] ?? bounds[column] : fixed[type]
        assert.deepStrictEqual(
          columns.filter((one) => boundOf(one) === undefined).map(({ column, table }) => `${table}.${column}`),
          [],
          "indexed columns without a bound",
        )
        const rows = new Map<string, number>()
        for (const one of columns) {
          const bytes = boundOf(one)! + (one.type === "text" ? textHeader : 0)
          rows.set(one.index, (rows.get(one.index) ?? rowHeader) + bytes)
        }
        assert.isAbove(rows.size, 50)
        assert.deepStrictEqual([...rows].filter(([, bytes]) => bytes > mostBytes), [])
      }))
  })
})
