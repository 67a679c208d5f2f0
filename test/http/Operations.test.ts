import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { waitUntil } from "../support/service.ts"
import { startWith } from "../support/servicesOf.ts"

describe("Metrics and readiness", () => {
  it.live("ask the store once for all who look at the same time, also if they do not wait for it", () =>
    Effect.scoped(Effect.gen(function* () {
      const { run, service } = yield* startWith("postgres")
      const look = (path: string, signal: AbortSignal) =>
        Array.from({ length: 20 }, () =>
          service.request(path, { signal }).then(async (answer) => {
            await answer.body?.cancel()
            return answer.status
          }, () => 0))
      const seen = yield* Effect.promise(() =>
        run(Effect.flatMap(SqlClient.SqlClient, (sql) =>
          sql.withTransaction(Effect.gen(function* () {
            yield* sql`LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE`
            const waiting = Effect.map(
              sql<{ n: number }>`
                SELECT count(*)::int AS n FROM pg_locks l WHERE l.relation = 'inbox'::regclass AND NOT l.granted`,
              ([row]) => row!.n,
            )
            const hasty = new AbortController()
            const gone = look("/metrics", hasty.signal)
            while ((yield* waiting) === 0);
            hasty.abort()
            yield* Effect.promise(() => Promise.all(gone))
            let answers: ReadonlyArray<number> | undefined
            const patient = new AbortController().signal
            void Promise.all([...look("/metrics", patient), ...look("/readyz", patient)])
              .then((statuses) => answers = statuses)
            let most = 0
            while (answers === undefined) most = Math.max(most, yield* waiting)
            return { answers, most }
          }))))
      )
      // The one that takes too long may still be going as the next is asked.
      assert.isAtMost(seen.most, 2)
      assert.deepStrictEqual(new Set(seen.answers), new Set([200]))
      yield* Effect.promise(() =>
        waitUntil(
          "the store is asked again",
          async () => /^parlance_inbox_pending 0$/m.test(await (await service.request("/metrics")).text()),
        )
      )
    })))
})
