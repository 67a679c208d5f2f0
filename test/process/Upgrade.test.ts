import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { join } from "node:path"
import { describe } from "vitest"
import { startBalancer } from "../support/balancer.ts"
import { checkOutPreviousRelease, hasPreviousRelease, previousRelease } from "../support/previousRelease.ts"
import { makeOrganization, run, scopedProcess, type ServiceProcess, waitUntil } from "../support/service.ts"
import { emptyEnvironment, type Environment, layerMigrated, temporaryFolder } from "../support/stores.ts"
import { decisionsIn, makeTemplate, scopedLoad, targetAt, terminate } from "./support.ts"

const scopedBalancer = Effect.acquireRelease(
  Effect.promise(startBalancer),
  (balancer) => Effect.promise(balancer.close),
)

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

describe.runIf(hasPreviousRelease())("An upgrade under load", () => {
  it.live(
    "fails no request during a rolling upgrade from the previous release, a way back, and another upgrade",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env: Environment = { ...yield* emptyEnvironment, SHUTDOWN_DELAY: "1 second" }
        const balancer = yield* scopedBalancer
        const load = yield* scopedLoad("roll", 6, { pauseMillis: 5 })
        const old = yield* temporaryFolder
        checkOutPreviousRelease(join(old, "release"))
        const release = join(old, "release")
        const starting = (folder?: string) =>
          Effect.tap(scopedProcess(env, { folder }), ({ url }) =>
            Effect.promise(async () => {
              balancer.add(url)
              await waitUntil("the balancer has found it ready", () => balancer.ready().includes(url))
            }))
        // The balancer detects by itself that a node is about to end.
        const ended = (node: ServiceProcess) =>
          Effect.promise(async () => assert.deepStrictEqual(await terminate(node), { code: 0, signal: null }))
        const answered = () => load.calls.filter(({ status }) => status === 200).map(({ trackingId }) => trackingId)
        const acknowledged = new Set<string>()
        let reported = 0
        const reporting = (key: string) =>
          Effect.gen(function* () {
            const fresh = answered().slice(reported, reported + 50)
            reported += fresh.length
            for (const id of yield* click(balancer.url, key, fresh)) acknowledged.add(id)
          })
        const going = (key: string) =>
          Effect.gen(function* () {
            const before = load.calls.length
            yield* Effect.promise(() => load.until(() => load.calls.length > before + 100))
            yield* reporting(key)
          })

        const first = yield* starting(release)
        const key = yield* Effect.promise(async () => {
          const key = await makeOrganization(first, "acme", ["generate", "events"])
          await makeTemplate(first, "acme", "offer")
          return key
        })
        load.aim({ ...targetAt(first, key), url: balancer.url })
        yield* going(key)
        // Migrates while the previous release serves.
        const newest = yield* starting()
        yield* going(key)
        yield* ended(first)
        yield* going(key)
        // Goes back: the previous release starts on the newer schema.
        const previous = yield* starting(release)
        yield* going(key)
        yield* ended(newest)
        yield* going(key)
        yield* starting()
        yield* ended(previous)
        yield* going(key)
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
        console.info(
          `Upgrade from ${previousRelease()[0]}: ${load.calls.length} calls, none failed, ` +
            `${load.calls.filter(({ durable }) => durable === false).length} answered from memory meanwhile; ` +
            `${acknowledged.size} clicks acknowledged, each counted once`,
        )
      })),
    480_000,
  )
})
