import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { DeliveryState } from "../../src/delivery/Delivery.ts"
import { type Receiver, signingSecret, startReceiver } from "../delivery/receiver.ts"
import { deliveryEnvironment } from "../delivery/support.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { adminToken, buildInProcess, type LocalService, makeOrganization } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { type Answer, type Json, read } from "./harness.ts"

/** An organization with a key, a template `t` and, unless it is to have none, a connection. */
export interface Sender {
  readonly slug: string
  readonly key: string
  readonly deliver: (body: unknown, headers?: Record<string, string>) => Promise<Answer>
  /** A management request under the organization. */
  readonly manage: (method: string, path: string, body?: unknown) => Promise<Answer>
  readonly deliveries: (query?: string) => Promise<ReadonlyArray<Json>>
  /** Waits until as many deliveries as `count` are in the state. */
  readonly untilCounted: (state: DeliveryState, count: number) => Promise<void>
}

export interface SendingBench {
  readonly service: LocalService
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

const start = Effect.gen(function* () {
  const server = yield* Effect.acquireRelease(
    Effect.promise(() => startReceiver()),
    (server) => Effect.promise(server.close),
  )
  const { context, service } = yield* buildInProcess(temporaryEnvironment, deliveryEnvironment)
  return { server, service, sql: yield* Effect.provideContext(SqlClient.SqlClient, context) }
})

/** A suite with one service that sends to one receiver. */
export const suiteOnSending = (name: string, suite: (bench: SendingBench) => void) =>
  describe(name, () => {
    let running: Effect.Success<typeof start>
    aroundTests(start, (started) => running = started)
    suite({
      get service() {
        return running.service
      },
      get server() {
        return running.server
      },
      get sql() {
        return running.sql
      },
      run: (effect) => Effect.runPromise(effect),
      sender: async (slug, { connection = {}, scopes, template = {} } = {}) => {
        const { server, service } = running
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
        const deliveries = async (query = "") => (await manage("GET", `/deliveries${query}`)).json.deliveries
        return {
          slug,
          key,
          manage,
          untilCounted: (state, count) =>
            service.untilStored(
              `${count} deliveries of ${slug} are ${state}`,
              ["deliveries"],
              async () => (await deliveries(`?state=${state}`)).length === count,
            ),
          deliver: async (body, headers = {}) =>
            read(
              await service.request(`/api/deliver/${slug}`, {
                method: "POST",
                headers: { "x-api-key": key, "content-type": "application/json", ...headers },
                body: typeof body === "string" ? body : JSON.stringify(body),
              }),
            ),
          deliveries,
        }
      },
    })
  })
