import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { unfinishedReason } from "../../src/store/Attempts.ts"
import { makeOrganization, scopedProcess, type ServiceProcess, waitUntil } from "../support/service.ts"
import { type Environment, layerMigrated, temporaryEnvironment } from "../support/stores.ts"
import { terminate } from "./support.ts"

/** Runs statements on the store of a service that does not run, or that uses Postgres. */
const inStore = <A, E>(env: Environment, run: (sql: SqlClient.SqlClient) => Effect.Effect<A, E>) =>
  Effect.scoped(Effect.gen(function* () {
    const context = yield* Layer.build(layerMigrated(Effect.succeed(env)))
    return yield* run(yield* Effect.provideContext(SqlClient.SqlClient, context))
  }))

const send = async (service: ServiceProcess, key: string, body: unknown) => {
  const response = await service.request("/api/webhook/events/acme", {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  assert.strictEqual(response.status, 200)
}

const click = (id: string, padding = "") => ({ event: "click", tracking_id: id, event_id: id, padding })

/** Bodies as the inbox shows them, oldest first. */
const inboxOf = async (service: ServiceProcess): Promise<ReadonlyArray<string>> => {
  const { body } = await service.manage("GET", "/organizations/acme/webhooks/events/inbox?all=true&limit=100")
  return body.inbox.toReversed().map((entry: { status: string; attempts: number; faults: Array<{ reason: string }> }) =>
    [entry.status, entry.attempts, ...entry.faults.map(({ reason }) => reason)].join(" ")
  )
}

describe("a body that kills the service", () => {
  const environment = temporaryEnvironment
  it.live("is rejected after three attempts, and others are processed", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* environment
      // Storing the event of this body never ends.
      yield* inStore(env, (sql) =>
        Effect.andThen(
          sql.unsafe(`CREATE FUNCTION stuck() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            PERFORM count(*) FROM generate_series(1, 1000000000000); RETURN NEW; END $$`),
          sql`CREATE TRIGGER stuck BEFORE INSERT ON events FOR EACH ROW WHEN (NEW.tracking_id = 'poison')
            EXECUTE FUNCTION stuck()`,
        ))
      const isStuck = async (service: ServiceProcess, attempt: number) =>
        (await inboxOf(service)).includes(`pending ${attempt}`)

      let key = ""
      for (const attempt of [1, 2, 3]) {
        yield* Effect.scoped(Effect.gen(function* () {
          const service = yield* scopedProcess(env)
          yield* Effect.promise(async () => {
            if (attempt === 1) {
              key = await makeOrganization(service, "acme", ["events"])
              await send(service, key, click("before"))
              // Too large to be read in a batch.
              await send(service, key, click("poison", "x".repeat(300_000)))
            }
            await waitUntil(`attempt ${attempt} is under way`, () => isStuck(service, attempt), 60)
            await send(service, key, click(`beside ${attempt}`))
            service.kill("SIGKILL")
            await service.ended
          })
        }))
        yield* inStore(env, (sql) =>
          Effect.andThen(
            // The server would go on without its client, and hold its locks.
            sql`SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
              WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()`,
            // As when the lease of the dead node has passed.
            sql`UPDATE intake_batches SET due_at = now()`,
          ))
      }

      const service = yield* scopedProcess(env)
      yield* Effect.promise(async () => {
        await send(service, key, click("after"))
        await waitUntil(
          "no body waits",
          async () => (await inboxOf(service)).every((entry) => !entry.startsWith("pending")),
          60,
        )
        const entries = await inboxOf(service)
        assert.strictEqual(entries[1], `rejected 3 ${unfinishedReason}`)
        const others = entries.filter((_, place) => place !== 1)
        assert.lengthOf(others, 5)
        for (const entry of others) assert.match(entry, /^done/)
        assert.deepStrictEqual(await terminate(service), { code: 0, signal: null })
      })
    })), 300_000)
})
