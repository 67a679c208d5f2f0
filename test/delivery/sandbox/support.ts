import { assert, describe } from "@effect/vitest"
import { type Context, Effect, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { layerRoutes, layerServices } from "../../../src/service/App.ts"
import * as Dispatcher from "../../../src/delivery/Dispatcher.ts"
import * as Server from "../../../src/api/http/Server.ts"
import { type Receiver, signingSecret, startReceiver } from "../receiver.ts"
import { deliveryEnvironment } from "../support.ts"
import { type Answer, type Json, read } from "../../api/harness.ts"
import { aroundTests } from "../../support/aroundTests.ts"
import { adminToken, type LocalService, localService, makeOrganization } from "../../support/service.ts"
import { layerSettings, temporaryEnvironment } from "../../support/stores.ts"

// An organization with a live and a test key, over HTTP. Only messages leave by themselves: tests say when events are
// taken in and ledgers folded, so that they can compare the store before and after.

type Services = Layer.Success<typeof layerServices>

export interface Keyed {
  readonly key: string
  readonly post: (path: string, body: unknown, headers?: Record<string, string>) => Promise<Answer>
  readonly get: (path: string) => Promise<Answer>
}

export interface Tested {
  readonly slug: string
  readonly live: Keyed
  readonly test: Keyed
  /** A management request under the organization, or under its sandbox. */
  readonly manage: (method: string, path: string, body?: unknown, under?: string) => Promise<Answer>
}

export interface SandboxBench {
  readonly service: LocalService
  /** Receives the messages of the organizations' connections. */
  readonly receiver: Receiver
  readonly run: <A, E>(effect: Effect.Effect<A, E, Services>) => Promise<A>
  /** With `connection: false` it has none. */
  readonly organization: (
    slug: string,
    options?: { readonly connection?: boolean; readonly template?: Json },
  ) => Promise<Tested>
}

/** Variants of the template `t` of every organization. */
export const variants = ["a", "b"].map((id) => ({
  id,
  vars: {
    subject: `${id} for {{ name }}`,
    body:
      `<p>Hello {{ name }}, <a href="https://shop.example/${id}">look</a> or <a href="{{ unsubscribe_url }}">stop</a></p>`,
  },
  formats: { body: "html" },
}))

const start = Effect.gen(function* () {
  const environment = yield* temporaryEnvironment
  const receiver = yield* Effect.acquireRelease(
    Effect.promise(() => startReceiver()),
    (receiver) => Effect.promise(() => receiver.close()),
  )
  const context = yield* Layer.build(
    Server.serve(layerRoutes).pipe(
      Layer.provideMerge(Dispatcher.layer),
      Layer.provideMerge(Server.layerServer),
      Layer.provideMerge(layerServices),
      Layer.provide(layerSettings({ PORT: "0", ADMIN_TOKEN: adminToken, ...deliveryEnvironment, ...environment })),
    ),
  )
  return { context, receiver, service: yield* localService(context) }
}).pipe(Effect.orDie) satisfies Effect.Effect<unknown, never, Scope.Scope>

type Started = Effect.Success<typeof start>

const organizationOf = async (
  { receiver, service }: Started,
  slug: string,
  { connection = true, template = {} }: { readonly connection?: boolean; readonly template?: Json } = {},
): Promise<Tested> => {
  const manage = async (method: string, path: string, body?: unknown, under = slug) =>
    read(
      await service.request(`/console/api/organizations/${under}${path}`, {
        method,
        headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )
  const scopes = ["generate", "deliver", "events"]
  const liveKey = await makeOrganization(service, slug, scopes)
  const made = await manage("POST", "/keys", { name: "test", kind: "test", scopes })
  assert.strictEqual(made.status, 201, made.text)
  const saved = await manage("POST", "/templates", { id: "t", name: "T", variants, ...template })
  assert.strictEqual(saved.status, 201, saved.text)
  if (connection) {
    const secrets = { signing_secret: signingSecret }
    const put = await manage("PUT", "/connections/main", {
      platform: "webhook",
      settings: { url: receiver.url },
      secrets,
    })
    assert.strictEqual(put.status, 200, put.text)
  }
  const keyed = (key: string): Keyed => ({
    key,
    post: async (path, body, headers = {}) =>
      read(
        await service.request(`/api/${path}/${slug}`, {
          method: "POST",
          headers: { "x-api-key": key, "content-type": "application/json", ...headers },
          body: JSON.stringify(body),
        }),
      ),
    get: async (path) => {
      const [name, query = ""] = path.split("?")
      return read(await service.request(`/api/${name}/${slug}?${query}`, { headers: { "x-api-key": key } }))
    },
  })
  return { slug, manage, live: keyed(liveKey), test: keyed(made.json.key) }
}

export const suiteOnSandbox = (name: string, suite: (bench: SandboxBench) => void) =>
  describe(name, () => {
    let running: Started
    aroundTests(start, (started) => running = started)
    suite({
      get service() {
        return running.service
      },
      get receiver() {
        return running.receiver
      },
      run: (effect) =>
        Effect.runPromise(
          Effect.provideContext(effect, running.context as Context.Context<Services>) as Effect.Effect<never>,
        ),
      organization: (slug, options) => organizationOf(running, slug, options),
    })
  })

/** Waits until no message of an organization or a sandbox is on its way. */
export const allLeft = (bench: SandboxBench, slug: string) =>
  bench.service.untilStored("all messages have left", ["deliveries"], () =>
    bench.run(Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const waiting = yield* sql`
        SELECT 1 FROM deliveries d WHERE d.org_slug = ${slug} AND d.state IN ('queued', 'sending') LIMIT 1`
      return waiting.length === 0
    })))

/** Columns with the time of the last check, and generated numbers. */
const volatile = ["last_used_at", "lease_until", "sent_per_second", "folded_at", "rolled_up_at"]

/** Every row of an organization in every table that has rows of organizations, as text. */
export const rowsOf = Effect.fnUntraced(function* (slug: string, without: ReadonlyArray<string> = []) {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ name: string; column: string }>`
    SELECT c.relname AS name, a.attname AS column FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND (a.attname = 'org_slug' OR (c.relname = 'organizations' AND a.attname = 'slug'))
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    ORDER BY c.relname`
  const found: Record<string, ReadonlyArray<string>> = {}
  for (const { column, name } of tables.filter(({ name }) => !without.includes(name))) {
    const rows = yield* sql<{ row: string }>`
      SELECT (to_jsonb(t) - ${volatile}::text[])::text AS row FROM ${sql(name)} t WHERE t.${
      sql(column)
    } = ${slug} ORDER BY 1`
    found[name] = rows.map(({ row }) => row)
  }
  return found
})
