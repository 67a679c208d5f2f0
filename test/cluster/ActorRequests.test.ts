import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { ActorFailed } from "../../src/cluster/ActorRequests.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { actors, twoNodes } from "./support.ts"

describe("requests to actors on other nodes", () => {
  it.live("are answered only by the node of the actor", () =>
    Effect.scoped(Effect.gen(function* () {
      const { nodes: [one, two], sql } = yield* twoNodes(temporaryEnvironment)
      const told: Array<string> = []
      for (const [name, { cluster, requests }] of Object.entries({ one, two })) {
        yield* requests.serve((actorId, request) =>
          Effect.suspend(() => {
            assert.isTrue(cluster.isHere(actorId), "answered where the actor is")
            if (request === "fail") return Effect.die(new Error("on purpose"))
            told.push(`${actorId} ${request}`)
            return Effect.succeed(request === "done" ? null : `${name}: ${request} ${"x".repeat(100_000)}`)
          })
        )
      }
      const there = actors.filter((id) => two.cluster.isHere(id))
      assert.isAbove(there.length, 3)
      const answers = yield* Effect.forEach(there, (id) => one.requests.ask(id, `hello ${id}`), {
        concurrency: "unbounded",
      })
      assert.deepStrictEqual(answers, there.map((id) => `two: hello ${id} ${"x".repeat(100_000)}`))
      assert.isNull(yield* one.requests.ask(there[0]!, "done"))
      assert.instanceOf(yield* Effect.flip(one.requests.ask(there[0]!, "fail")), ActorFailed)

      // A caller that stops waiting leaves no rows.
      const nobody = yield* Effect.forkChild(one.requests.ask("acme/nowhere", "hello"))
      yield* Effect.forEach(there, (id) => one.requests.tell(id, "told"))
      yield* Effect.repeat(
        Effect.delay(Effect.sync(() => told.filter((text) => text.endsWith(" told"))), "20 millis"),
        {
          until: (all) => all.length >= there.length,
        },
      )
      yield* Fiber.interrupt(nobody)
      yield* Effect.repeat(Effect.delay(sql`SELECT FROM actor_requests`, "20 millis"), {
        until: (rows) => rows.length === 0,
      })
      assert.sameMembers(told.filter((text) => text.endsWith(" told")), there.map((id) => `${id} told`))
    })), 60_000)

  it.live("arrive even without notifications", () =>
    Effect.scoped(Effect.gen(function* () {
      const { nodes: [one, two], sql } = yield* twoNodes(temporaryEnvironment)
      yield* two.requests.serve((_, request) => Effect.succeed(request))
      const there = actors.find((id) => two.cluster.isHere(id))!
      // A pooler that hands connections from one transaction to another passes no notification on.
      yield* sql`
        SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
        WHERE a.query ILIKE 'LISTEN%' AND a.datname = current_database()`
      assert.strictEqual(yield* one.requests.ask(there, "hello"), "hello")
    })), 60_000)
})
