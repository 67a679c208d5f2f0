import { assert, describe, it } from "@effect/vitest"
import { RequestsUnderWay } from "../../src/cluster/RequestsUnderWay.ts"

describe("requests in progress", () => {
  it("are new once, even if the answer is stored during a read of the table", () => {
    const requests = new RequestsUnderWay()
    requests.beginReading()
    assert.isTrue(requests.add(1))
    requests.beginReading()
    // The reading began before the answer was stored, so it still returns the request.
    requests.markAnswered(1)
    assert.isFalse(requests.add(1))
  })

  it("are accepted again in a later read, which happens only if the answer could not be stored", () => {
    const requests = new RequestsUnderWay()
    requests.beginReading()
    requests.add(1)
    requests.markAnswered(1)
    requests.beginReading()
    assert.isTrue(requests.add(1))
  })
})
