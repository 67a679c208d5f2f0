import { assert, describe, it } from "@effect/vitest"
import { type Answered, type History, violationsOf } from "./History.ts"

const answer: Answered = {
  template: "offer",
  trackingId: "t1",
  process: "node 1.1",
  began: 10,
  ended: 12,
  outages: 0,
  copyId: "left",
  subject: "Left",
  isDurable: true,
  isModelFree: false,
}

const sound: History = {
  answers: [answer, { ...answer, process: "node 2.1", began: 30, ended: 33 }],
  arrivals: [{ deliveryId: "d1", email: "ann@example.com", began: 40, subject: "Right" }],
  optOuts: [{ email: "ann@example.com", way: "link", acknowledged: 41 }],
  accepted: new Map([["d1", "ann@example.com"], ["d2", "ann@example.com"]]),
  reported: new Set(["click of t1"]),
  decisions: [
    { template: "offer", trackingId: "t1", copyId: "left" },
    { template: "mail", trackingId: "d1", copyId: "right" },
  ],
  events: ["click of t1"],
  suppressed: new Set(["ann@example.com"]),
  subjects: new Map([["offer left", "Left"], ["mail right", "Right"]]),
}

/** The names of the rules that a history breaks. */
const broken = (history: Partial<History>): ReadonlyArray<string> =>
  Object.entries(violationsOf({ ...sound, ...history })).flatMap(([rule, places]) => places.length > 0 ? [rule] : [])

const fromMemory = { ...answer, isDurable: false }

describe("the checks of a storm's history", () => {
  it("report no fault in a correct history", () => assert.deepStrictEqual(broken({}), []))

  it("report two variants of durable answers", () =>
    assert.include(
      broken({ answers: [answer, { ...answer, copyId: "right", process: "node 2.1" }] }),
      "one tracking id gets one variant",
    ))

  it("report two variants from the memory of one process", () =>
    assert.include(
      broken({ answers: [fromMemory, { ...fromMemory, copyId: "right", ended: 13 }] }),
      "one tracking id gets one variant",
    ))

  it("allow another variant from the memory of one process in a later outage", () =>
    assert.notInclude(
      broken({ answers: [fromMemory, { ...fromMemory, copyId: "right", outages: 1 }, answer] }),
      "one tracking id gets one variant",
    ))

  it("allow another variant from the memory of another process", () =>
    assert.notInclude(
      broken({ answers: [{ ...fromMemory, copyId: "right", process: "node 3.1" }, answer] }),
      "one tracking id gets one variant",
    ))

  it("report another variant of a choice without a model from any process", () =>
    assert.include(
      broken({
        answers: [
          { ...fromMemory, copyId: "right", process: "node 3.1", isModelFree: true },
          { ...answer, isModelFree: true },
        ],
      }),
      "one tracking id gets one variant",
    ))

  it("report a durable answer without a decision", () =>
    assert.deepStrictEqual(broken({ decisions: sound.decisions.slice(1) }), [
      "a durable answer is stored as it was given",
    ]))

  it("report a decision that is stored twice", () =>
    assert.deepStrictEqual(broken({ decisions: [...sound.decisions, sound.decisions[0]!] }), [
      "a decision is stored once",
    ]))

  it("report an answer with the text of another variant", () =>
    assert.deepStrictEqual(broken({ answers: [{ ...answer, subject: "Right" }] }), [
      "an answer has the text of its variant",
    ]))

  it("report a message with the text of another variant", () =>
    assert.deepStrictEqual(broken({ arrivals: [{ ...sound.arrivals[0]!, subject: "Left" }] }), [
      "a message has the text of the stored variant",
    ]))

  it("report a message begun more than 200 ms after an acknowledged opt-out, but not earlier", () => {
    const acknowledged = sound.optOuts[0]!.acknowledged
    const arrivals = (after: number) => [{ ...sound.arrivals[0]!, began: acknowledged + after }]
    assert.deepStrictEqual(broken({ arrivals: arrivals(200) }), [])
    assert.deepStrictEqual(broken({ arrivals: arrivals(201) }), ["nothing is sent after an acknowledged opt-out"])
  })

  it("report an opt-out that was lost", () =>
    assert.include(broken({ suppressed: new Set() }), "an acknowledged opt-out stays"))

  it("report an accepted message that nobody received", () =>
    assert.deepStrictEqual(broken({ accepted: new Map([["d9", "bob@example.com"]]) }), [
      "an accepted message is sent",
    ]))

  it("report an acknowledged event that is lost", () =>
    assert.include(broken({ events: [] }), "an acknowledged event is stored once"))

  it("report an acknowledged event that is stored twice", () =>
    assert.include(broken({ events: ["click of t1", "click of t1"] }), "an acknowledged event is stored once"))
})
