import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Outbox } from "../../../src/delivery/Outbox.ts"
import { org } from "../../intake/support.ts"
import { deliveriesOf, enqueueMany, furnish, layerQueue, statesOf } from "../../delivery/support.ts"
import { leaseEnds, sent, take } from "../../delivery/outboxSupport.ts"
import type { Contract } from "./contract.ts"

/** Each message has one owner, which a fence protects from earlier owners. */
export const delivery: Contract = (environment) =>
  layer(Layer.unwrap(Effect.map(environment, (env) => layerQueue(env))), { excludeTestServices: true })((it) => {
    it.effect("claims each message once, and records its result", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        yield* furnish("delivery")
        const ids = yield* enqueueMany("delivery", 30)
        const lane = yield* take("delivery")
        const claimed = [...yield* outbox.claim(lane, 20), ...yield* outbox.claim(lane, 20)]
        assert.sameMembers(claimed.map(({ id }) => id), ids)
        assert.deepStrictEqual(yield* statesOf("delivery"), { sending: 30 })
        yield* outbox.settle(lane, ids.map((id) => sent(id)))
        assert.deepStrictEqual(yield* statesOf("delivery"), { sent: 30 })
        assert.deepInclude((yield* deliveriesOf("delivery"))[0]!, { state: "sent", messageId: `m-${ids[0]}` })
      }))

    it.effect("takes over an expired lease with a new fence", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        yield* furnish("takeover")
        const first = yield* take("takeover")
        assert.isUndefined(yield* outbox.take(org("takeover"), "two"))
        yield* leaseEnds("takeover", -2)
        assert.strictEqual((yield* take("takeover", "two")).fence, first.fence + 1)
        assert.isFalse(yield* outbox.renew(first, 3))
      }))
  })
