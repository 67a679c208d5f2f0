import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type Balancer, startBalancer } from "../support/balancer.ts"
import { makeOrganization, run, type Service, waitUntil } from "../support/service.ts"
import { type Environment, layerMigrated } from "../support/stores.ts"
import { decisionsIn, makeTemplate, scopedLoad, targetAt } from "./support.ts"

// The traffic during an upgrade, and the checks after the upgrade.

/** Clicks that the service has acknowledged and counted. */
const countedClicks = (env: Environment) =>
  Effect.scoped(Effect.gen(function* () {
    const context = yield* Layer.build(layerMigrated(Effect.succeed(env)))
    const sql = yield* Effect.provideContext(SqlClient.SqlClient, context)
    const rows = yield* sql<{ trackingId: string }>`
      SELECT e.tracking_id FROM events e WHERE e.event = 'click' AND e.status = 'attributed'`
    return rows.map(({ trackingId }) => trackingId)
  }))

/** Reports a click for each id to one address. Returns the acknowledged ids. */
const click = (url: string, key: string, ids: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const response = await fetch(`${url}/api/webhook/events/acme`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify(ids.map((id) => ({ event: "click", tracking_id: id, event_id: id }))),
    })
    await response.body?.cancel()
    return response.ok ? ids : []
  })

const scopedBalancer = Effect.acquireRelease(
  Effect.promise(startBalancer),
  (balancer) => Effect.promise(balancer.close),
)

/** Requests and clicks through a balancer, on one database. */
export interface UpgradeLoad {
  readonly balancer: Balancer
  /** Creates the organization at a node, and sends the requests. */
  readonly begin: (first: Service) => Effect.Effect<void>
  /** Resolves after 100 more requests, and reports clicks of some. */
  readonly going: Effect.Effect<void>
  /**
   * Ends the requests. Asserts that none failed, that each decision is stored, and that each acknowledged click is
   * counted once. Returns the figures.
   */
  readonly ended: Effect.Effect<string, unknown>
}

/** Makes the traffic of an upgrade, until the scope closes. */
export const scopedUpgradeLoad = (env: Environment) =>
  Effect.gen(function* () {
    const balancer = yield* scopedBalancer
    const load = yield* scopedLoad("roll", 6, { pauseMillis: 5 })
    const answered = () => load.calls.filter(({ status }) => status === 200).map(({ trackingId }) => trackingId)
    const acknowledged = new Set<string>()
    let reported = 0
    let key = ""
    const reporting = Effect.gen(function* () {
      const fresh = answered().slice(reported, reported + 50)
      reported += fresh.length
      for (const id of yield* click(balancer.url, key, fresh)) acknowledged.add(id)
    })
    const going = Effect.gen(function* () {
      const before = load.calls.length
      yield* Effect.promise(() => load.until(() => load.calls.length > before + 100))
      yield* reporting
    })
    const begin = (first: Service) =>
      Effect.promise(async () => {
        key = await makeOrganization(first, "acme", ["generate", "events"])
        await makeTemplate(first, "acme", "offer")
        load.aim({ ...targetAt(first, key), url: balancer.url })
      })
    const ended = Effect.gen(function* () {
      yield* Effect.promise(load.stop)
      assert.deepStrictEqual(load.calls.filter(({ status }) => status !== 200), [])
      const decisions = yield* decisionsIn(env)
      assert.deepStrictEqual(answered().filter((id) => !decisions.has(id)), [])
      yield* Effect.promise(() =>
        waitUntil("every acknowledged click is counted", async () => {
          const clicks = await Effect.runPromise(countedClicks(env))
          assert.strictEqual(new Set(clicks).size, clicks.length, "counted twice")
          return clicks.length === acknowledged.size && clicks.every((id) => acknowledged.has(id))
        })
      )
      const check = run(["rebuild", "--check", "--json"], env)
      assert.strictEqual((yield* Effect.promise(() => check.ended)).code, 0, check.output())
      assert.include(check.output(), '"differences": 0')
      return `${load.calls.length} calls, none failed, ` +
        `${load.calls.filter(({ durable }) => durable === false).length} answered from memory meanwhile; ` +
        `${acknowledged.size} clicks acknowledged, each counted once`
    })
    return { balancer, begin, going, ended } satisfies UpgradeLoad
  })
