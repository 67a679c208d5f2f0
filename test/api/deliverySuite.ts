import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { HttpServer } from "effect/http"
import { SqlClient } from "effect/sql"
import { afterAll, beforeAll } from "vitest"
import { layerJobs, layerRoutes, layerServices } from "../../src/App.ts"
import * as Server from "../../src/api/server/Server.ts"
import { type Receiver, signingSecret, startReceiver } from "../delivery/receiver.ts"
import { deliveryEnvironment } from "../delivery/support.ts"
import { adminToken, makeOrganization, type Service, serviceAt } from "../support/service.ts"
import { type Environment, layerSettings, temporaryEnvironment } from "../support/stores.ts"
import { type Answer, type Json, read } from "./harness.ts"

/** An organization with a key, a template `t` and, unless it is to have none, a connection. */
export interface Sender {
  readonly slug: string
  readonly key: string
  readonly deliver: (body: unknown, headers?: Record<string, string>) => Promise<Answer>
  /** A management request under the organization. */
  readonly manage: (method: string, path: string, body?: unknown) => Promise<Answer>
  readonly deliveries: (query?: string) => Promise<ReadonlyArray<Json>>
}

export interface SendingBench {
  readonly service: Service
  /** Receives the delivered messages. */
  readonly server: Receiver
  readonly sql: SqlClient.SqlClient
  readonly run: <A>(effect: Effect.Effect<A, unknown>) => Promise<A>
  /** `connection: null` makes none; by default it is paused, so that nothing leaves. */
  readonly sender: (
    slug: string,
    options?: { readonly connection?: Json; readonly template?: Json; readonly scopes?: ReadonlyArray<string> },
  ) => Promise<Sender>
}

const start = (environment: Effect.Effect<Environment, never, Scope.Scope>) =>
  Effect.gen(function* () {
    const env = yield* environment
    const context = yield* Layer.build(
      Server.serve(layerRoutes).pipe(
        Layer.provideMerge(layerJobs),
        Layer.provideMerge(Server.layerServer),
        Layer.provideMerge(layerServices),
        Layer.provide(
          layerSettings({
            PORT: "0",
            ADMIN_TOKEN: adminToken,
            ...deliveryEnvironment,
            ...env,
          }),
        ),
      ),
    )
    const { address } = yield* Effect.provideContext(HttpServer.HttpServer, context)
    const sql = yield* Effect.provideContext(SqlClient.SqlClient, context)
    if (address._tag === "UnixPathAddress") return yield* Effect.die("no port")
    return { service: serviceAt(`http://127.0.0.1:${address.port}`), sql }
  }).pipe(Effect.orDie)

/** A suite with one service that sends to one receiver. */
export const suiteOnSending = (name: string, suite: (bench: SendingBench) => void) =>
  describe(name, () => {
    const environment = temporaryEnvironment
    let scope: Scope.Closeable
    let running: { readonly service: Service; readonly sql: SqlClient.SqlClient }
    let server: Receiver
    beforeAll(async () => {
      scope = await Effect.runPromise(Scope.make())
      server = await startReceiver()
      running = await Effect.runPromise(Scope.provide(start(environment), scope))
    })
    afterAll(async () => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await server.close()
    })
    suite({
      get service() {
        return running.service
      },
      get server() {
        return server
      },
      get sql() {
        return running.sql
      },
      run: (effect) => Effect.runPromise(effect),
      sender: async (slug, { connection = {}, scopes, template = {} } = {}) => {
        const { service } = running
        const key = await makeOrganization(service, slug, scopes)
        const manage = async (method: string, path: string, body?: unknown) =>
          read(
            await service.request(`/console/api/organizations/${slug}${path}`, {
              method,
              headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
              ...(body === undefined ? {} : { body: JSON.stringify(body) }),
            }),
          )
        const made = await manage("POST", "/templates", {
          id: "t",
          name: "T",
          variants: [{ id: "a", vars: { subject: "Hi {{ name }}" } }],
          ...template,
        })
        assert.strictEqual(made.status, 201, made.text)
        if (connection !== null) {
          const put = await manage("PUT", "/connections/main", {
            platform: "webhook",
            settings: { url: server.url },
            secrets: { signing_secret: signingSecret },
            paused: true,
            ...connection,
          })
          assert.strictEqual(put.status, 200, put.text)
        }
        return {
          slug,
          key,
          manage,
          deliver: async (body, headers = {}) =>
            read(
              await service.request(`/api/deliver/${slug}`, {
                method: "POST",
                headers: { "x-api-key": key, "content-type": "application/json", ...headers },
                body: typeof body === "string" ? body : JSON.stringify(body),
              }),
            ),
          deliveries: async (query = "") => (await manage("GET", `/deliveries${query}`)).json.deliveries,
        }
      },
    })
  })
