import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { partitionedTables, readPartitions } from "../../../src/journal/retention/Partitions.ts"
import { Retention } from "../../../src/journal/retention/Retention.ts"
import { decide, layerQuiet, makeOrg, receive, settle, tallies } from "../../intake/support.ts"
import type { Contract } from "./contract.ts"

/** Decisions and events are stored once, in partitions of their time. */
export const journal: Contract = (environment) =>
  layer(Layer.unwrap(Effect.map(environment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("counts an event once, also if it arrives before its decision or twice", () =>
      Effect.gen(function* () {
        yield* makeOrg("journal")
        const click = { event: "click", tracking_id: "t1", event_id: "e1" }
        yield* receive("journal", [click, click])
        yield* settle("journal")
        assert.deepStrictEqual(yield* tallies("journal"), [])
        yield* decide("journal", "t1")
        yield* decide("journal", "t1")
        yield* receive("journal", click)
        yield* settle("journal")
        assert.deepStrictEqual(yield* tallies("journal"), ["a plan=pro learned: click 1, decisions 1"])
      }))

    it.effect("makes partitions ahead of time", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* (yield* Retention).prepare
        for (const one of partitionedTables) {
          const partitions = yield* readPartitions(sql, one)
          assert.isAbove(Number(partitions.at(-1)!.to), Date.now(), one.table)
        }
      }))
  })
