import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import process from "node:process"
import { describe } from "vitest"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"
import { makeOrganization, scopedProcess, type ServiceProcess, waitUntil } from "../support/service.ts"
import { layerSettings, temporaryEnvironment } from "../support/stores.ts"
import { sinkEnvironment } from "./deliverSink.ts"

/** Failed messages that are retried. A trial may have more. */
const size = Number(process.env["BULK_KILL_SIZE"] ?? 60_000)

const kills = 3

/** Failed messages in the store, every second of them for a full mailbox, with their count. */
const fill = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO deliveries (org_slug, id, template_id, copy_id, email, vars, formats, state, due_at, queued_at, attempts,
      reason, connection, finished_at)
    SELECT 'acme', gen_random_uuid()::text, 'offer', 'a', 'p' || n || '@example.com', '{}', '{}', 'failed', now(), now(), 1,
      CASE WHEN n % 2 = 0 THEN '552 mailbox of p' || n || '@example.com is full' ELSE 'no such person' END, 'main', now()
    FROM generate_series(1, ${size}::int) n`
  yield* sql`
    INSERT INTO delivery_counts (org_slug, hour, state, count)
    VALUES ('acme', date_bin('1 hour', now(), 'epoch'), 'failed', ${size})`
})

/** The deliveries by state, and the count of failed ones that is kept apart. */
const standing = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [counts] = yield* sql<{ queued: number; failed: number; counted: number }>`
    SELECT count(*) FILTER (WHERE d.state = 'queued')::int AS queued, count(*) FILTER (WHERE d.state = 'failed')::int AS failed,
      (SELECT sum(c.count)::int FROM delivery_counts c WHERE c.org_slug = 'acme' AND c.state = 'failed') AS counted
    FROM deliveries d WHERE d.org_slug = 'acme'`
  return counts!
})

describe("a bulk retry whose service is killed", () => {
  it.live(
    "continues, changes each message once, and reports its progress",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = { ...yield* temporaryEnvironment, ...sinkEnvironment }
        const store = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) =>
          Effect.provide(effect, StoreFromSettings.layerMigrated).pipe(Effect.provide(layerSettings(env)))
        const life = <A>(use: (service: ServiceProcess) => Promise<A>) =>
          Effect.scoped(Effect.flatMap(scopedProcess(env), (service) => Effect.promise(() => use(service))))
        const actions = async (service: ServiceProcess) =>
          (await service.manage("GET", "/organizations/acme/bulk-actions")).body.actions

        yield* life((service) => makeOrganization(service, "acme"))
        yield* store(fill)
        let changed = 0
        const seen: Array<number> = []
        for (let killed = 0; killed < kills; killed++) {
          yield* life(async (service) => {
            if (killed === 0) {
              const path = "/organizations/acme/deliveries/retry"
              // The answer never comes, so do not await it.
              service.manage("POST", path, { reason: "mailbox of … is full" }).catch(() => undefined)
            }
            await waitUntil("some more have been retried, or all", async () => {
              const [action] = await actions(service)
              return action !== undefined && (action.changed > changed || action.state !== "running")
            })
            service.kill("SIGKILL")
            await service.ended
          })
          const { queued } = yield* store(standing)
          seen.push(queued)
          changed = queued
        }
        const end = yield* life(async (service) => {
          await waitUntil("the action has ended", async () => (await actions(service))[0].state !== "running", 600)
          return actions(service)
        })
        const half = Math.floor(size / 2)
        assert.lengthOf(end, 1)
        assert.deepInclude(end[0], { state: "done", matched: half, changed: half, reason: null })
        assert.deepStrictEqual(yield* store(standing), { queued: half, failed: size - half, counted: size - half })
        for (const queued of seen) assert.isAtMost(queued, half)
      })),
    1_200_000,
  )
})
