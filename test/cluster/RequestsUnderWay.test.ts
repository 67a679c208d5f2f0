import { assert, describe, it } from "@effect/vitest"
import { RequestsUnderWay } from "../../src/cluster/RequestsUnderWay.ts"

describe("Requests under way", () => {
  it("are new once, also if the answer is stored while the table is read", () => {
    const requests = new RequestsUnderWay()
    requests.beginReading()
    assert.isTrue(requests.add(1))
    requests.beginReading()
    // The reading began before the answer was stored, so it still returns the request.
    requests.markAnswered(1)
    assert.isFalse(requests.add(1))
  })

  it("are taken again by a later reading, which returns them only if the answer could not be stored", () => {
    const requests = new RequestsUnderWay()
    requests.beginReading()
    requests.add(1)
    requests.markAnswered(1)
    requests.beginReading()
    assert.isTrue(requests.add(1))
  })
})
