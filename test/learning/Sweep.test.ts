import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { findPending } from "../../src/learning/Sweep.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

describe("the sweep of the ledger", () => {
  layer(layerMigrated(temporaryEnvironment))((it) => {
    it.effect("finds templates by the index after it has searched an idle ledger", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`VACUUM tally_ledger`
        // One transaction, so that all searches use one connection.
        yield* sql.withTransaction(Effect.gen(function* () {
          // PostgreSQL keeps the plan of a prepared statement from the sixth time on.
          for (let n = 0; n < 6; n++) assert.deepStrictEqual(yield* findPending(sql), [])
          yield* sql`
            INSERT INTO tally_ledger (org_slug, template_id, copy_id, segment, hour, track, counts)
            SELECT 'acme', 't' || i % 100, 'a', '', now(), 'learned', '{}' FROM generate_series(1, 1000) i`
          assert.strictEqual((yield* findPending(sql)).length, 100)
          const [row] = yield* sql<{ scans: number }>`
            SELECT s.seq_scan::int AS scans FROM pg_stat_xact_user_tables s WHERE s.relname = 'tally_ledger'`
          assert.isBelow(row!.scans, 20)
        }))
      }))
  })
})
