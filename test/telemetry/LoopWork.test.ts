import { assert, describe, it } from "@effect/vitest"
import { causeOf, fieldsOf, type Hold } from "../../src/telemetry/LoopWatch.ts"
import { type LoopWork, nameOf, suspectsOf } from "../../src/telemetry/LoopWork.ts"

const work = (name: string, startedAt: number, endedAt = Infinity): LoopWork => ({
  name: () => ({ work: name, org: "acme", requestId: `id-${name}` }),
  subject: undefined,
  startedAt,
  endedAt,
})

const named = (all: ReadonlyArray<LoopWork>, from: number, until: number) =>
  suspectsOf(all, from, until).map(({ isLikely, work }) => [nameOf(work).work, isLikely])

describe("the work that blocked the event loop", () => {
  it("is the request that began and ended around a period without other work", () => {
    const all = [
      work("answered before", 980, 1000),
      work("the long one", 1001, 1401),
      work("waits for the store", 900),
      work("came afterwards", 1402, 1405),
      work("came afterwards, too", 1403),
    ]
    assert.deepStrictEqual(named(all, 990, 1410), [["the long one", true], ["waits for the store", false]])
  })

  it("is among the work in progress if none begins or ends with the period", () => {
    const all = [work("a", 100), work("b", 200), work("over", 50, 90)]
    assert.deepStrictEqual(named(all, 1000, 1500), [["b", false], ["a", false]])
  })

  it("is empty without work in progress", () => {
    assert.deepStrictEqual(named([work("before", 1, 2), work("after", 1990, 1995)], 1000, 2000), [])
  })

  it("is work that began in this turn and is still in progress", () => {
    assert.deepStrictEqual(named([work("old", 1), work("new", 1000.5)], 1000, 1300), [["new", true], ["old", false]])
  })
})

describe("the cause of a blocked event loop", () => {
  const hold: Hold = { millis: 400, processorMillis: 390, freedBytes: 0, suspects: [] }
  const suspect = (isLikely: boolean) => [{ work: work("POST /api/generate/:org", 1, 2), isLikely }]

  it("is the only likely work", () => {
    assert.strictEqual(causeOf({ ...hold, suspects: suspect(true) }), "The first work listed is the likely one")
    assert.strictEqual(causeOf({ ...hold, suspects: suspect(false) }), "One of the work listed")
    assert.match(causeOf(hold), /^No request or known job/)
  })

  it("is a garbage collection if the heap shrank and no work is likely", () => {
    const collected = { ...hold, freedBytes: 200 * 1024 * 1024 }
    assert.match(causeOf(collected), /freed 200 MiB meanwhile; it is the likely cause$/)
    assert.match(causeOf({ ...collected, suspects: suspect(true) }), /it or the first work listed$/)
  })

  it("is outside of the process if the process hardly ran", () => {
    assert.match(causeOf({ ...hold, processorMillis: 20, suspects: suspect(true) }), /^The process hardly ran/)
  })

  it("is logged with at most five items of work, by route, organization and request id", () => {
    const { reason: _, ...fields } = fieldsOf({ ...hold, suspects: Array.from({ length: 9 }, () => suspect(true)[0]!) })
    assert.deepStrictEqual(fields, {
      held_ms: 400,
      processor_ms: 390,
      work: Array.from({ length: 5 }, () => ({
        work: "POST /api/generate/:org",
        org: "acme",
        requestId: "id-POST /api/generate/:org",
      })),
    })
  })
})
