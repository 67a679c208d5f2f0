import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import * as FoldAttempts from "../../src/learning/FoldAttempts.ts"
import { Learning } from "../../src/learning/Learning.ts"
import { unfinishedReason } from "../../src/store/Attempts.ts"
import { decide, layerQuiet, makeOrg, org, tallies } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { counted, makeTemplate, settle } from "./support.ts"

/** Makes the ledger of a template such that the tables of tallies refuse it. */
const poison = Effect.fnUntraced(function* (slug: string, template: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO tally_ledger (org_slug, template_id, copy_id, segment, hour, track, counts)
    VALUES (${slug}, ${template}, 'a', '', ${new Date()}, 'learned', '{"click": 99999999999}')`
})

const stateOf = Effect.fnUntraced(function* (slug: string, template: string) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ attempts: number; isStopped: boolean; reason: string | null }>`
    SELECT a.attempts, a.stopped_at IS NOT NULL AS is_stopped, a.reason FROM fold_attempts a
    WHERE a.org_slug = ${slug} AND a.template_id = ${template}`
  return row
})

describe("FoldAttempts", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("stops folding a template after three failures, and folds the others", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const learning = yield* Learning
        yield* makeOrg("stop")
        for (const template of ["bad", "good"]) yield* makeTemplate("stop", template, ["a"])
        yield* decide("stop", "d1", { template: "bad" })
        yield* decide("stop", "d2", { template: "good" })
        yield* poison("stop", "bad")
        for (const attempts of [1, 2, 3]) {
          assert.isFalse(yield* learning.refresh("stop", "bad"))
          assert.strictEqual((yield* stateOf("stop", "bad"))!.attempts, attempts)
        }
        const [stopped] = yield* FoldAttempts.readStopped(sql, "stop")
        assert.strictEqual(stopped!.templateId, "bad")
        assert.match(stopped!.reason, /out of range/)
        // The ledger is left alone from now on, and a refresh uses the counts there are.
        assert.isTrue(yield* learning.refresh("stop", "bad"))
        assert.strictEqual((yield* stateOf("stop", "bad"))!.attempts, 3)
        yield* settle("stop", "good")
        assert.deepStrictEqual(yield* counted("stop", "good"), [["a", 1, 0]])
      }))

    it.effect("restarts the count after a rebuild", () =>
      Effect.gen(function* () {
        const learning = yield* Learning
        yield* makeOrg("anew")
        yield* makeTemplate("anew", "t", ["a"])
        yield* decide("anew", "d1")
        yield* poison("anew", "t")
        for (let n = 0; n < 3; n++) yield* learning.refresh("anew", "t")
        assert.isTrue((yield* stateOf("anew", "t"))!.isStopped)
        yield* (yield* Rebuild).run(org("anew"), { template: "t", check: false })
        assert.isUndefined(yield* stateOf("anew", "t"))
        yield* decide("anew", "d2")
        yield* settle("anew")
        assert.deepStrictEqual(yield* tallies("anew"), ["a plan=pro learned: decisions 2"])
      }))

    it.effect("restarts the count when the objective changes", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const learning = yield* Learning
        yield* sql`
          INSERT INTO fold_attempts (org_slug, template_id, attempts, attempted_at, reason, stopped_at)
          VALUES ('changed', 't', 3, now(), 'x', now())`
        yield* learning.relearn("changed", "t")
        assert.isUndefined(yield* stateOf("changed", "t"))
      }))

    it.effect("counts an attempt that ended with the process", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* poison("killed", "t")
        for (const attempts of [1, 2, 3]) {
          // A new process each time, which is gone before the attempt ends.
          const { attempt } = FoldAttempts.make(sql, "killed", "t")
          const begun = yield* Deferred.make<void>()
          yield* Effect.forkDetach(attempt(Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)))
          yield* Deferred.await(begun)
          assert.strictEqual((yield* stateOf("killed", "t"))!.attempts, attempts)
        }
        const last = FoldAttempts.make(sql, "killed", "t")
        assert.isUndefined(yield* last.attempt(Effect.die("must not be run")))
        assert.deepStrictEqual(yield* stateOf("killed", "t"), {
          attempts: 3,
          isStopped: true,
          reason: unfinishedReason,
        })
      }))

    it.effect("counts neither interruptions nor a concurrent rebuild", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* poison("spared", "t")
        const { attempt, succeed } = FoldAttempts.make(sql, "spared", "t")
        for (let n = 0; n < 4; n++) {
          const begun = yield* Deferred.make<void>()
          const fiber = yield* Effect.forkChild(
            attempt(Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)),
          )
          yield* Deferred.await(begun)
          yield* Fiber.interrupt(fiber)
          assert.strictEqual((yield* stateOf("spared", "t"))!.attempts, 0)
        }
        const locked = sql`DO $$ BEGIN RAISE EXCEPTION 'in the way' USING ERRCODE = 'lock_not_available'; END $$`
        for (let n = 0; n < 4; n++) {
          yield* Effect.ignore(attempt(locked))
          assert.strictEqual((yield* stateOf("spared", "t"))!.attempts, 1)
        }
        yield* attempt(succeed)
        assert.deepStrictEqual(yield* stateOf("spared", "t"), { attempts: 0, isStopped: false, reason: null })
      }))
  })
})
