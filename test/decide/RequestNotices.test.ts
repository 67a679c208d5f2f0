import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Decider } from "../../src/decide/Decider.ts"
import type { DecideRequest } from "../../src/decide/DecideRequest.ts"
import { RequestNotices } from "../../src/decide/RequestNotices.ts"
import type { Placeholder } from "../../src/text/Placeholders.ts"
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

/** A request with an attribute that nobody filled in. */
const unfilled = (template: string, tracking: string, at: string, text = "null"): DecideRequest => ({
  ...request(template, tracking),
  trackingId: tracking,
  placeholders: [{ at, text }] satisfies ReadonlyArray<Placeholder>,
})

describe("notices of requests", () => {
  const services = Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet))
  layer(services, { excludeTestServices: true })((it) => {
    it.effect("count repeated tracking ids by template in the last 24 hours", () =>
      Effect.gen(function* () {
        const decider = yield* Decider
        const counts = yield* RequestNotices
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
          { templateId: "often", kind: "repeated" as const, requests: 3, members: "user_id" },
          { templateId: "once", kind: "repeated" as const, requests: 1, members: "user_id" },
        ]
        assert.deepStrictEqual(yield* counts.recent("counted"), expected)
        assert.deepStrictEqual(yield* counts.recent("another"), [])

        yield* sql`UPDATE request_notices SET hour = hour - interval '1 day' WHERE template_id = 'once'`
        assert.deepStrictEqual(yield* counts.recent("counted"), expected.slice(0, 1))
        yield* sql`UPDATE request_notices SET hour = hour - interval '3 hours' WHERE template_id = 'once'`
        yield* counts.flush
        assert.lengthOf(yield* sql`SELECT t.hour FROM request_notices t`, 1, "older ones are deleted")
      }))

    it.effect("count requests with unfilled placeholders separately from repeated tracking ids", () =>
      Effect.gen(function* () {
        const decider = yield* Decider
        const counts = yield* RequestNotices
        yield* makeOrg("unfilled")
        for (const id of ["open", "filled", "both"]) {
          yield* (yield* Templates).create(org("unfilled"), {
            id: id as TemplateId,
            name: id,
            variants: [
              { id: "a" as CopyId, vars: { s: "a" } },
              {
                id: "b" as CopyId,
                vars: { s: "b" },
                targeting: [{ attribute: "plan", op: "is", values: ["none"] }],
              },
            ],
          })
        }
        const ask = (asked: DecideRequest) => decider.decide("unfilled", asked)
        yield* ask(unfilled("open", "m1", "/fields/name"))
        yield* ask(unfilled("open", "m2", "/attrs/tier", "{{customer.tier}}"))
        yield* ask(unfilled("filled", "m3", "/attrs/plan", "None"))
        yield* ask(request("filled", "ann"))
        yield* ask(unfilled("unknown", "m4", "/attrs/tier"))
        yield* ask(request("both", "ann"))
        yield* ask({ ...unfilled("both", "x", "attrs[tier]"), userId: "bob" })
        yield* counts.flush
        assert.deepStrictEqual(yield* counts.recent("unfilled"), [
          { templateId: "open", kind: "unfilled", requests: 2, members: "attrs.tier" },
          { templateId: "both", kind: "repeated", requests: 1, members: "user_id" },
          { templateId: "both", kind: "unfilled", requests: 1, members: "attrs.tier" },
        ])
      }))

    it.effect("leave out requests in a sandbox", () =>
      Effect.gen(function* () {
        const decider = yield* Decider
        const counts = yield* RequestNotices
        yield* makeOrg("tested")
        yield* (yield* Templates).create(org("tested"), {
          id: "t" as TemplateId,
          name: "t",
          variants: [{ id: "a" as CopyId, vars: { s: "a" } }],
        })
        for (const one of ["tested~test", "tested"]) {
          yield* decider.decide(one, request("t", "ann"))
          yield* decider.decide(one, { ...unfilled("t", "x", "/attrs/tier"), userId: "bob" })
        }
        yield* counts.flush
        assert.deepStrictEqual(yield* counts.recent("tested~test"), [])
        assert.deepStrictEqual(
          (yield* counts.recent("tested")).map(({ kind, requests }) => [kind, requests]),
          [["repeated", 1], ["unfilled", 1]],
        )
      }))

    it.effect("are written later if the first write fails", () =>
      Effect.gen(function* () {
        const counts = yield* RequestNotices
        yield* makeOrg("kept")
        // No organization has this name, so the database refuses the rows of this write.
        counts.count("repeated", "nobody", "t", ["user_id"])
        counts.count("repeated", "kept", "t", ["user_id"])
        assert.isTrue((yield* Effect.exit(counts.flush))._tag === "Failure")
        yield* makeOrg("nobody")
        counts.count("repeated", "kept", "t", ["attrs.tier"])
        yield* counts.flush
        assert.deepStrictEqual(yield* counts.recent("kept"), [
          { templateId: "t", kind: "repeated", requests: 2, members: "attrs.tier" },
        ])
      }))
  })
})
