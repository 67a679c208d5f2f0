import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Rebuild } from "../../../src/projections/Rebuild.ts"
import { decide, layerQuiet, makeOrg, org, receive, settle, tallies } from "../../intake/support.ts"
import type { Contract } from "./contract.ts"

/** Counts are folded from the ledger, and rebuilt from decisions and events. */
export const learning: Contract = (environment) =>
  layer(Layer.unwrap(Effect.map(environment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("folds counts that a rebuild confirms, and restores damaged counts", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const rebuild = yield* Rebuild
        yield* makeOrg("learning")
        for (let n = 0; n < 40; n++) yield* decide("learning", `t${n}`, { copy: n % 2 === 0 ? "a" : "b" })
        yield* receive(
          "learning",
          Array.from({ length: 10 }, (_, n) => ({ event: "click", tracking_id: `t${2 * n}`, event_id: `e${n}` })),
        )
        yield* settle("learning")
        const right = yield* tallies("learning")
        assert.deepStrictEqual(right, [
          "a plan=pro learned: click 10, decisions 20",
          "b plan=pro learned: decisions 20",
        ])
        assert.deepStrictEqual((yield* rebuild.run(org("learning"), { check: true })).differences, [])
        yield* sql`UPDATE tallies SET click = 5 WHERE org_slug = 'learning'`
        yield* rebuild.run(org("learning"), { check: false })
        assert.deepStrictEqual(yield* tallies("learning"), right)
      }))
  })
