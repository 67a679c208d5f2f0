import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import type { OrgSlug } from "../../src/domain/Ids.ts"
import { Changes } from "../../src/organizations/Changes.ts"
import { Organizations } from "../../src/organizations/Organizations.ts"
import { Tracking } from "../../src/tracking/Tracking.ts"
import { TrackingKey } from "../../src/tracking/TrackingKey.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

const acme = "acme" as OrgSlug

const layerTracking = Layer.mergeAll(Tracking.layer, Organizations.layer).pipe(Layer.provideMerge(Changes.layer))

describe("tracking keys", () => {
  layer(layerTracking.pipe(Layer.provideMerge(layerMigrated(temporaryEnvironment))), { excludeTestServices: true })(
    (it) => {
      /** Runs an effect on a node that starts now. */
      const onNewNode = <A, E>(use: Effect.Effect<A, E, Tracking | TrackingKey>) =>
        Effect.scoped(Effect.provide(use, Layer.fresh(Tracking.layer)))

      const tokenOf = (id: string) =>
        Effect.map(Tracking.use((tracking) => tracking.unsubscribeUrls(acme)), (urlOf) => urlOf(id).split("/u/")[1]!)
      const opens = (token: string) => Tracking.use((tracking) => tracking.open("unsubscribe", token))
      const mailbox = Tracking.use((tracking) => tracking.complaintMailbox(acme))
      const opensMailbox = (text: string) => Tracking.use((tracking) => tracking.openMailbox(text))
      const states = Effect.map(TrackingKey.use(({ list }) => list), (keys) => keys.map(({ state }) => state))

      it.effect("a new key signs once all nodes know it, and links of earlier keys work until the key is removed", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* (yield* Organizations).create({ slug: acme, name: "Acme" })
          const { remove, rotate } = yield* TrackingKey
          const id = randomUUID()
          const old = yield* tokenOf(id)
          const oldMailbox = yield* mailbox
          assert.deepStrictEqual(yield* states, ["signing"])

          const made = yield* rotate
          assert.strictEqual(made.state, "waiting")
          assert.strictEqual(yield* tokenOf(id), old, "nodes that do not know the new key accept the link")
          assert.include((yield* Effect.flip(rotate)).message, "5 minutes")

          yield* sql`UPDATE signing_keys s SET created_at = s.created_at - interval '10 minutes'`
          assert.deepStrictEqual(yield* states, ["signing", "accepted"])
          const young = yield* onNewNode(tokenOf(id))
          assert.notStrictEqual(young, old)
          for (const token of [old, young]) {
            assert.deepInclude(yield* opens(token), { org: acme, id }, "a node that learned the key before it signed")
            assert.deepInclude(yield* onNewNode(opens(token)), { org: acme, id })
          }
          assert.deepInclude(yield* onNewNode(opensMailbox(oldMailbox)), { org: acme })

          assert.include((yield* Effect.flip(remove(made.id))).message, "is signing")
          assert.strictEqual((yield* Effect.flip(remove("other")))._tag, "TrackingKeyNotFound")
          yield* remove("first")
          assert.isUndefined(yield* opens(old))
          assert.deepInclude(yield* onNewNode(opens(young)), { org: acme, id })
          assert.deepStrictEqual(yield* states, ["signing"])
        }))
    },
  )
})
