import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { Retention } from "../../src/journal/retention/Retention.ts"
import { layerQuiet, org, settle } from "../intake/support.ts"
import { makeOrganization, scopedProcess } from "../support/service.ts"
import { startDumpable } from "./dumpablePostgres.ts"
import { makeTemplate, scopedLoad, targetAt } from "./support.ts"

// The commands of docs/operations/backup.md.

const postgres = await startDumpable()

describe.runIf(postgres !== undefined)(`a dump of a running system on PostgreSQL ${postgres?.version}`, () => {
  afterAll(() => postgres!.stop())

  it.live("restores the same counts and continues from them", () =>
    Effect.scoped(Effect.gen(function* () {
      // In the container.
      const file = "/tmp/parlance.dump"
      const service = yield* scopedProcess({ DATABASE_URL: postgres!.url })
      const key = yield* Effect.promise(() => makeOrganization(service, "acme", ["generate", "events"]))
      yield* Effect.promise(() => makeTemplate(service, "acme", "offer"))
      const load = yield* scopedLoad("m", 6)
      load.aim(targetAt(service, key))
      const click = (trackingId: string, url = service.url) =>
        fetch(`${url}/api/webhook/events/acme`, {
          method: "POST",
          headers: { "x-api-key": key, "content-type": "application/json" },
          body: JSON.stringify({ event: "click", tracking_id: trackingId, event_id: `c-${trackingId}` }),
        }).then((response) => {
          assert.strictEqual(response.status, 200)
          return response.arrayBuffer()
        })
      const answered = () => load.calls.filter(({ status }) => status === 200)

      const { during, earlier } = yield* Effect.promise(async () => {
        await load.until(() => answered().length > 300)
        const earlier = answered().slice(0, 300)
        await Promise.all(earlier.slice(0, 100).map(({ trackingId }) => click(trackingId)))
        const before = answered().length
        let dumping = true
        const clicks = (async () => {
          for (const { trackingId } of earlier.slice(100)) if (dumping) await click(trackingId)
        })()
        await postgres!.client("pg_dump", "--format=custom", `--file=${file}`, "postgres")
        dumping = false
        const during = answered().length - before
        await clicks
        await postgres!.client("createdb", "restored")
        await postgres!.client("pg_restore", "--exit-on-error", "--dbname=restored", file)
        return { during, earlier }
      })
      assert.isAbove(during, 0, "nobody waited for the dump")
      yield* Effect.promise(() => load.stop())

      const url = postgres!.url.replace(/\/postgres$/, "/restored")
      const services = layerQuiet({ DATABASE_URL: url })
      const counts = Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.map(
          sql<{ decisions: number; counted: number; clicks: number }>`
            SELECT (SELECT count(*)::int FROM decisions) AS decisions,
              (SELECT coalesce(sum(t.decisions), 0)::int FROM tallies t)
                + (SELECT coalesce(sum((l.counts ->> 'decisions')::int), 0)::int FROM tally_ledger l) AS counted,
              (SELECT coalesce(sum(t.click), 0)::int FROM tallies t)
                + (SELECT coalesce(sum((l.counts ->> 'click')::int), 0)::int FROM tally_ledger l) AS clicks`,
          ([row]) => row!,
        ))
      const check = Effect.gen(function* () {
        const rebuilt = yield* (yield* Rebuild).run(org("acme"), { check: true })
        assert.deepStrictEqual(rebuilt.differences, [])
        const all = yield* counts
        assert.strictEqual(all.counted, all.decisions)
        return all
      })
      const restored = yield* Effect.scoped(Effect.gen(function* () {
        const context = yield* Layer.build(services)
        return yield* Effect.provideContext(
          Effect.gen(function* () {
            // As it is in the dump, before anything is taken in or folded.
            const dumped = yield* check
            yield* (yield* Retention).prepare
            yield* settle("acme", "offer")
            const settled = yield* check
            assert.strictEqual(settled.decisions, dumped.decisions)
            return settled
          }),
          context,
        )
      }))
      assert.isAtLeast(restored.decisions, earlier.length)
      assert.isAtLeast(restored.clicks, 1)

      const again = yield* scopedProcess({ DATABASE_URL: url })
      yield* Effect.promise(async () => {
        for (const { copyId, trackingId } of earlier.slice(0, 50)) {
          const response = await fetch(`${again.url}/api/generate/acme`, {
            method: "POST",
            headers: { "x-api-key": key, "content-type": "application/json" },
            body: JSON.stringify({ template_id: "offer", tracking_id: trackingId, user_id: `u-${trackingId}` }),
          })
          const body = await response.json() as { readonly copy: { readonly id?: string } }
          assert.strictEqual(body.copy.id, copyId)
        }
        // Senders repeat everything acknowledged after the dump. The other events count once.
        await Promise.all(earlier.map(({ trackingId }) => click(trackingId, again.url)))
      })
      again.kill("SIGTERM")
      yield* Effect.promise(() => again.ended)
      yield* Effect.scoped(Effect.gen(function* () {
        const context = yield* Layer.build(services)
        yield* Effect.provideContext(
          Effect.gen(function* () {
            yield* settle("acme", "offer")
            const all = yield* check
            assert.strictEqual(all.decisions, restored.decisions)
            assert.strictEqual(all.clicks, earlier.length)
          }),
          context,
        )
      }))
    })), { timeout: 400_000 })
})
