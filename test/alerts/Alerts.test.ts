import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../src/accounts/Accounts.ts"
import { Memberships } from "../../src/accounts/Memberships.ts"
import { Alerts } from "../../src/alerts/Alerts.ts"
import { layerNodeServices } from "../../src/service/App.ts"
import { Decider } from "../../src/decide/Decider.ts"
import { RenderingCounts } from "../../src/decide/RenderingCounts.ts"
import { Connections } from "../../src/delivery/Connections.ts"
import type { CopyId, TemplateId } from "../../src/domain/Ids.ts"
import { Notifications } from "../../src/accounts/notifications/Notifications.ts"
import { Organizations } from "../../src/organizations/Organizations.ts"
import { recordset } from "../../src/store/Recordset.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { WebhookEndpoints } from "../../src/webhooks/WebhookEndpoints.ts"
import { makeOrg, org, receive } from "../intake/support.ts"
import { layerSettings, temporaryEnvironment } from "../support/stores.ts"

/** Two nodes on one database. */
class Nodes extends Context.Service<Nodes, ReadonlyArray<Layer.Success<typeof layerNodeServices>>>()("test/Nodes") {}

type Node = Context.Context<Layer.Success<typeof layerNodeServices>>

describe("alerts of two nodes", () => {
  const layerNodes = Layer.effectContext(Effect.gen(function* () {
    const environment = yield* temporaryEnvironment
    const settings = { ...environment, SECRET_KEY: "5e".repeat(32), LOG_LEVEL: "None" }
    const node = Layer.build(Layer.fresh(layerNodeServices).pipe(Layer.provide(layerSettings(settings))))
    const nodes: ReadonlyArray<Node> = [yield* node, yield* node]
    return Context.make(Nodes, nodes as never)
  }))

  layer(layerNodes, { excludeTestServices: true })((it) => {
    const onEach = <A, E, R extends Layer.Success<typeof layerNodeServices>>(effect: Effect.Effect<A, E, R>) =>
      Effect.flatMap(
        Nodes,
        (nodes) =>
          Effect.forEach(nodes as unknown as ReadonlyArray<Node>, (node) => Effect.provideContext(effect, node), {
            concurrency: "unbounded",
          }),
      )
    const onFirst = <A, E, R extends Layer.Success<typeof layerNodeServices>>(effect: Effect.Effect<A, E, R>) =>
      Effect.flatMap(Nodes, (nodes) => Effect.provideContext(effect, (nodes as unknown as ReadonlyArray<Node>)[0]!))

    const furnish = (slug: string) =>
      onFirst(Effect.gen(function* () {
        yield* makeOrg(slug)
        const { endpoint } = yield* (yield* WebhookEndpoints).create(org(slug), {
          url: "https://example.com/hook",
          description: "",
          events: [],
          enabled: true,
        })
        return endpoint.id
      }))

    const announced = (slug: string, endpoint: string) =>
      onFirst(Effect.gen(function* () {
        const messages = yield* (yield* WebhookEndpoints).messages(org(slug), endpoint, {
          before: undefined,
          limit: 50,
        })
        return messages.map(({ body }) => JSON.parse(body!))
      }))

    const look = onEach(Effect.flatMap(Alerts, (alerts) => alerts.lookAtAll))

    it.effect("announce a variant that cannot be rendered once until it recovers", () =>
      Effect.gen(function* () {
        const endpoint = yield* furnish("failing")
        yield* onFirst(Effect.gen(function* () {
          yield* (yield* Templates).create(org("failing"), {
            id: "t" as TemplateId,
            name: "T",
            strict: true,
            variants: [{ id: "a" as CopyId, vars: { subject: "Hi {{ name }}" } }],
          })
        }))
        const request = (fields: Record<string, string>) => ({
          templateId: "t" as TemplateId,
          trackingId: undefined,
          userId: undefined,
          fields,
          attrs: new Map(),
        })
        const generate = (times: number, fields: Record<string, string> = {}) =>
          onEach(Effect.gen(function* () {
            const decider = yield* Decider
            const tags: Array<string> = []
            for (let n = 0; n < times; n++) tags.push((yield* decider.decide("failing", request(fields)))._tag)
            yield* (yield* RenderingCounts).flush
            return tags
          }))
        yield* generate(4)
        yield* look
        assert.deepStrictEqual(yield* announced("failing", endpoint), [])
        const [[tag]] = (yield* generate(1)) as [[string]]
        assert.strictEqual(tag, "NotRendered")
        yield* look
        yield* look
        const [event, ...more] = yield* announced("failing", endpoint)
        assert.deepStrictEqual(more, [])
        assert.strictEqual(event.type, "variant.failing")
        assert.deepInclude(event.data, {
          org: "failing",
          template_id: "t",
          copy_id: "a",
          requests: 10,
          failed: 10,
          variable: "subject",
        })
        yield* generate(100, { name: "Ann" })
        yield* look
        assert.deepStrictEqual(yield* onFirst(Effect.flatMap(Alerts, (alerts) => alerts.current(org("failing")))), [])
        yield* generate(12)
        yield* look
        assert.lengthOf(yield* announced("failing", endpoint), 2)
      }))

    it.effect("announce 47 failed deliveries of 142 to editors and endpoints once until few fail", () =>
      Effect.gen(function* () {
        const endpoint = yield* furnish("refused")
        const editor = yield* onFirst(Effect.gen(function* () {
          const { id } = yield* (yield* Accounts).create({ email: "ed@example.com", name: "Ed" })
          yield* (yield* Memberships).put(org("refused"), id, "editor", { kind: "token" })
          return id
        }))
        const count = (state: string, n: number) =>
          onFirst(Effect.flatMap(SqlClient.SqlClient, (sql) =>
            sql`
            INSERT INTO delivery_counts AS c (org_slug, hour, state, count)
            VALUES ('refused', date_bin('1 hour', now(), 'epoch'), ${state}, ${n})
            ON CONFLICT (org_slug, hour, state) DO UPDATE SET count = c.count + ${n}`))
        const unread = onFirst(Effect.flatMap(Notifications, ({ unread }) => unread(org("refused"), editor)))
        yield* count("sent", 95)
        yield* count("failed", 9)
        yield* look
        assert.strictEqual(yield* unread, 0)
        yield* count("failed", 38)
        yield* look
        yield* look
        assert.strictEqual(yield* unread, 1)
        const [event, ...more] = yield* announced("refused", endpoint)
        assert.deepStrictEqual(more, [])
        assert.deepInclude(event.data, { org: "refused", failed: 47, ended: 142, threshold: 0.1 })
        yield* count("sent", 900)
        yield* look
        yield* count("failed", 100)
        yield* look
        assert.strictEqual(yield* unread, 2)
        const threshold = (delivery_failure_threshold: number) =>
          onFirst(Effect.flatMap(Organizations, ({ update }) => update(org("refused"), { delivery_failure_threshold })))
        yield* threshold(0.5)
        yield* look
        assert.deepStrictEqual(yield* onFirst(Effect.flatMap(Alerts, ({ current }) => current(org("refused")))), [])
        yield* threshold(0.05)
        yield* look
        assert.strictEqual(yield* unread, 3)
        assert.deepInclude((yield* announced("refused", endpoint))[0].data, { failed: 147, threshold: 0.05 })
      }))

    it.effect("count refusals that mail servers report, and pause the connection if they are most of the sent messages", () =>
      Effect.gen(function* () {
        yield* furnish("reported")
        yield* onFirst(Effect.flatMap(Connections, (connections) =>
          connections.put(org("reported"), "main", {
            platform: "smtp",
            settings: { host: "mail.example.com", from: "news@shop.example" },
            secrets: {},
          })))
        const report = (event: string, count: number) =>
          onFirst(Effect.flatMap(SqlClient.SqlClient, (sql) =>
            sql`
            WITH bodies AS (
              INSERT INTO inbox (org_slug, source, received_at, headers, body, status)
              SELECT 'reported', 'mail', now(), '{}'::json, ''::bytea, 'done' FROM generate_series(1, ${count}::int)
              RETURNING id, received_at
            )
            INSERT INTO events (org_slug, source, event_key, template_id, inbox_id, event, occurred_at, received_at,
              automated, status)
            SELECT 'reported', 'mail', b.id::text, '', b.id, ${event}, b.received_at, b.received_at, FALSE, 'counted'
            FROM bodies b`))
        const current = onFirst(Effect.flatMap(Alerts, ({ current }) => current(org("reported"))))
        const trouble = onFirst(
          Effect.flatMap(
            Connections,
            (connections) => Effect.map(connections.get(org("reported"), "main"), ({ trouble }) => trouble),
          ),
        )
        yield* onFirst(Effect.flatMap(SqlClient.SqlClient, (sql) =>
          sql`
          INSERT INTO delivery_counts (org_slug, hour, state, count)
          VALUES ('reported', date_bin('1 hour', now(), 'epoch'), 'sent', 100)`))
        // The other node learns of the connection a moment later.
        const look = onFirst(Effect.flatMap(Alerts, ({ lookAtAll }) => lookAtAll))
        yield* report("bounce", 80)
        yield* report("failed", 9)
        yield* look
        assert.deepStrictEqual(yield* current, [])
        yield* report("failed", 41)
        yield* look
        assert.deepStrictEqual<unknown>(yield* current, [
          { type: "deliveries.failing", failed: 50, ended: 100, refused: 50, threshold: 0.1 },
        ])
        assert.match((yield* trouble)?.reason ?? "", /^Mail servers report that they refused 50 messages/)
        yield* onFirst(Effect.flatMap(Connections, ({ resume }) => resume(org("reported"), "main")))
        yield* look
        assert.isNull(yield* trouble)
      }))

    it.effect("belong to the right organization among many", () =>
      Effect.gen(function* () {
        const slugs = Array.from({ length: 230 }, (_, n) => `many-${n}`)
        const ended = slugs.map((slug, n) => ({ slug, failed: n % 50 === 7 ? 20 : 1 }))
        yield* onFirst(Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`
            INSERT INTO organizations (slug, name, created_at, updated_at)
            SELECT r.slug, r.slug, now(), now() FROM ${recordset(ended, { slug: "text" })}`
          yield* sql`
            INSERT INTO delivery_counts (org_slug, hour, state, count)
            SELECT r.slug, date_bin('1 hour', now(), 'epoch'), 'failed', r.failed
            FROM ${recordset(ended, { slug: "text", failed: "int" })}`
        }))
        yield* look
        const open = onFirst(Effect.flatMap(SqlClient.SqlClient, (sql) =>
          Effect.map(
            sql<{ orgSlug: string }>`SELECT a.org_slug FROM alerts a WHERE a.org_slug LIKE 'many-%' ORDER BY 1`,
            (rows) => rows.map(({ orgSlug }) => orgSlug),
          )))
        assert.deepStrictEqual(yield* open, ["many-107", "many-157", "many-207", "many-57", "many-7"])
        yield* onFirst(Effect.flatMap(SqlClient.SqlClient, (sql) =>
          sql`UPDATE delivery_counts c SET count = 1 WHERE c.org_slug = 'many-107'`))
        yield* look
        assert.deepStrictEqual(yield* open, ["many-157", "many-207", "many-57", "many-7"])
      }))

    it.effect("announce a silent source once until it sends again", () =>
      Effect.gen(function* () {
        const endpoint = yield* furnish("silent")
        // A body each hour of nine days, the last one five hours ago.
        yield* onFirst(Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`
            INSERT INTO source_hours (org_slug, source, hour)
            SELECT 'silent', 'events', h FROM generate_series(date_trunc('hour', now()) - interval '216 hours',
              date_trunc('hour', now()) - interval '5 hours', interval '1 hour') h`
        }))
        yield* look
        yield* look
        const [event, ...more] = yield* announced("silent", endpoint)
        assert.deepStrictEqual(more, [])
        assert.strictEqual(event.type, "source.silent")
        assert.deepInclude(event.data, { source: "events", platform: "events", longest_pause_hours: 1 })
        yield* onFirst(receive("silent", { event: "click", tracking_id: "x" }))
        yield* look
        assert.deepStrictEqual(yield* onFirst(Effect.flatMap(Alerts, (alerts) => alerts.current(org("silent")))), [])
        const rows = yield* onFirst(Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT a.* FROM alerts a`))
        assert.deepStrictEqual(rows.filter(({ orgSlug }) => orgSlug === "silent"), [])
        assert.lengthOf(yield* announced("silent", endpoint), 1)
      }))
  })
})
