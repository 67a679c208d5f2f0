import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { type Access, lineOf, make } from "../../src/telemetry/AccessLog.ts"

const access: Access = {
  method: "GET",
  route: "/api/delay/:org",
  status: 200,
  millis: 3.4,
  org: "acme",
  requestId: "r-1",
}

describe("the access log", () => {
  it("has one object per request, or a readable line in a terminal", () => {
    assert.deepStrictEqual(JSON.parse(lineOf(access, new Date(0), false)), {
      timestamp: "1970-01-01T00:00:00.000Z",
      level: "INFO",
      message: "Request",
      annotations: {
        method: "GET",
        route: "/api/delay/:org",
        status: 200,
        duration_ms: 3,
        org: "acme",
        requestId: "r-1",
      },
    })
    assert.strictEqual(lineOf(access, new Date(0), true), "GET /api/delay/:org 200 3 ms acme r-1")
    const unmatched = { ...access, route: undefined, org: undefined }
    assert.strictEqual(lineOf(unmatched, new Date(0), true), "GET - 200 3 ms - r-1")
  })

  it("omits an organization that cannot exist", () => {
    for (const org of ["ann@personal.example", "Ann Smith", "a".repeat(64), ""]) {
      assert.isNull(JSON.parse(lineOf({ ...access, org }, new Date(0), false)).annotations.org)
    }
  })

  it.effect("writes lines together: every tenth of a second, in hundreds, and at the end", () =>
    Effect.gen(function* () {
      const written: Array<number> = []
      yield* Effect.scoped(Effect.gen(function* () {
        const log = yield* make((lines) => void written.push(lines.split("\n").length), false)
        log(access)
        log(access)
        assert.deepStrictEqual(written, [])
        yield* TestClock.adjust("100 millis")
        assert.deepStrictEqual(written, [2])
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(written, [2])
        for (let i = 0; i < 501; i++) log(access)
        assert.deepStrictEqual(written, [2, 500])
      }))
      assert.deepStrictEqual(written, [2, 500, 1])
    }))
})
