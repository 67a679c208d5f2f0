import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Decider } from "../../src/decide/Decider.ts"
import type { DecideRequest } from "../../src/decide/DecideRequest.ts"
import { RepeatedIdCounts } from "../../src/decide/RepeatedIdCounts.ts"
import type { CopyId, TemplateId } from "../../src/domain/Ids.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { layerQuiet, makeOrg, org } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"

const request = (template: string, user: string): DecideRequest => ({
  templateId: template as TemplateId,
  trackingId: "x",
  userId: user,
  fields: {},
  attrs: new Map(),
})

describe("Counts of repeated tracking ids", () => {
  const services = Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet))
  layer(services, { excludeTestServices: true })((it) => {
    it.effect("are of requests for other people, by template, in the last 24 hours", () =>
      Effect.gen(function* () {
        const decider = yield* Decider
        const counts = yield* RepeatedIdCounts
        const sql = yield* SqlClient.SqlClient
        yield* makeOrg("counted")
        for (const id of ["often", "once", "never"]) {
          yield* (yield* Templates).create(org("counted"), {
            id: id as TemplateId,
            name: id,
            variants: [{ id: "a" as CopyId, vars: { s: "a" } }],
          })
        }
        const ask = (template: string, users: ReadonlyArray<string>) =>
          Effect.forEach(users, (user) => decider.decide("counted", request(template, user)))
        yield* ask("often", ["ann", "ann", "bob", "cid"])
        yield* ask("once", ["ann", "bob"])
        yield* ask("never", ["ann", "ann", "ann"])
        yield* counts.flush
        yield* ask("often", ["dee"])
        yield* counts.flush
        yield* counts.flush
        const expected = [
          { templateId: "often", requests: 3, members: "user_id" },
          { templateId: "once", requests: 1, members: "user_id" },
        ]
        assert.deepStrictEqual(yield* counts.recent("counted"), expected)
        assert.deepStrictEqual(yield* counts.recent("another"), [])

        yield* sql`UPDATE repeated_tracking_ids SET hour = hour - interval '1 day' WHERE template_id = 'once'`
        assert.deepStrictEqual(yield* counts.recent("counted"), expected.slice(0, 1))
        yield* sql`UPDATE repeated_tracking_ids SET hour = hour - interval '3 hours' WHERE template_id = 'once'`
        yield* counts.flush
        assert.lengthOf(yield* sql`SELECT t.hour FROM repeated_tracking_ids t`, 1, "older ones are deleted")
      }))

    it.effect("that could not be written are written later", () =>
      Effect.gen(function* () {
        const counts = yield* RepeatedIdCounts
        yield* makeOrg("kept")
        // No organization has this name, so the database refuses the rows of this write.
        counts.count("nobody", "t", ["user_id"])
        counts.count("kept", "t", ["user_id"])
        assert.isTrue((yield* Effect.exit(counts.flush))._tag === "Failure")
        yield* makeOrg("nobody")
        counts.count("kept", "t", ["attrs.tier"])
        yield* counts.flush
        assert.deepStrictEqual(yield* counts.recent("kept"), [{ templateId: "t", requests: 2, members: "attrs.tier" }])
      }))
  })
})
