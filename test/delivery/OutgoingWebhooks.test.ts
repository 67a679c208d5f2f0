import { assert, describe, it } from "@effect/vitest"
import { verifyWebhook } from "../../clients/typescript/src/webhooks.ts"
import { afterFailure, signedBy } from "../../src/delivery/OutgoingWebhooks.ts"

const hour = 3_600_000

describe("outgoing webhooks", () => {
  it("retry after 5 seconds to one hour, with jitter, for at most 28 hours", () => {
    const pause = (attempts: number, jitter: number, failing = 0) => {
      const outcome = afterFailure(attempts, failing, jitter)
      return outcome._tag === "again" ? outcome.delayMillis : undefined
    }
    assert.strictEqual(pause(0, 0), 2_500)
    assert.strictEqual(pause(0, 0.5), 5_000)
    assert.strictEqual(pause(1, 0.5), 10_000)
    assert.strictEqual(pause(40, 0.5), hour)
    assert.strictEqual(pause(40, 0.5, 27.5 * hour), hour / 2, "the last attempt is made when the time ends")
    assert.isUndefined(pause(40, 0.5, 28 * hour))
  })

  it("are signed with every valid secret", async () => {
    const [first, second] = [1, 2].map((byte) => `whsec_${btoa(String.fromCharCode(byte).repeat(32))}`)
    const body = '{"type":"ping"}'
    const headers = signedBy([first!, second!], "evt_1", body, 1_777_000_000_500)
    assert.strictEqual(headers["webhook-timestamp"], "1777000000")
    for (const secret of [first!, second!]) {
      const event = await verifyWebhook({ secrets: [secret], headers, body, now: 1_777_000_000_000 })
      assert.strictEqual(event.type, "ping")
    }
    const other = verifyWebhook({ secrets: [second!], headers, body: `${body} `, now: 1_777_000_000_000 })
    assert.strictEqual(await other.catch((error) => error.fault), "signature")
  })
})
