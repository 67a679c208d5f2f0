import { assert, describe, it } from "@effect/vitest"
import { SeededSet } from "../../src/domain/SeededMap.ts"
import { normalizer } from "../../src/intake/Sources.ts"
import { suggestionFor, unknownNameReason } from "../../src/intake/UnknownName.ts"
import { eventsOf, judge, verdictsOf } from "../../src/intake/Verdicts.ts"
import { receivedAt } from "./customEventsSupport.ts"

const judged = (body: unknown, headers: Readonly<Record<string, string>> = {}, conversions: Iterable<string> = []) => {
  const bytes = new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body))
  const found = judge(
    normalizer("events", { conversions: new Set(conversions), mapping: undefined }),
    bytes,
    headers,
    receivedAt,
  )
  if ("reason" in found) throw new Error(found.reason)
  return found.items
}

const known = (...keys: ReadonlyArray<string>) => new SeededSet(keys)

describe("The suggestion for a misspelt name", () => {
  it("is the nearest name that is known or declared", () => {
    const near = [
      "clik",
      "clikc",
      "cilck",
      "clicks",
      "opne",
      "opend",
      "unsubscribd",
      "order_complete",
      "deliverd",
      "buonce",
    ]
    assert.deepStrictEqual(
      near.map((name) => suggestionFor(name, [])),
      ["click", "click", "click", "click", "open", "open", "unsubscribe", "order_completed", "delivered", "bounce"],
    )
    assert.strictEqual(suggestionFor("trail_started", ["trial_started"]), "trial_started")
  })

  it("is missing where no name is near, and never the sign for any name", () => {
    for (const name of ["", "x", "page", "newsletter_opened", "c".repeat(5_000)]) {
      assert.isUndefined(suggestionFor(name, ["*"]), name)
    }
    assert.notInclude(unknownNameReason("page", new Set(["*"])), "did you mean")
    assert.include(unknownNameReason("com.shop.clik.v2", new Set()), "did you mean click?")
  })
})

describe("Verdicts", () => {
  it("keep the order of the items, and tell which member is at fault", () => {
    const items = judged([
      { event: "open", tracking_id: "t", event_id: "1" },
      { properties: { name: "clik" }, tracking_id: "t" },
      { event: "retry", tracking_id: "t" },
      { event: "click", user_id: "" },
      7,
      { event: "click", tracking_id: "t", event_id: "2" },
    ])
    assert.deepStrictEqual(
      verdictsOf(items, known("id:2")).map(({ pointer, status }) => [status, pointer]),
      [
        ["accepted", undefined],
        ["rejected", "/1/properties/name"],
        ["ignored", "/2"],
        ["rejected", "/3/tracking_id"],
        ["rejected", "/4"],
        ["duplicate", undefined],
      ],
    )
    assert.deepStrictEqual(eventsOf(items).map(({ key }) => key), ["id:1", "id:2"])
  })

  it("call the second of two equal events of one body a duplicate", () => {
    const one = { event: "click", tracking_id: "t" }
    assert.deepStrictEqual(
      verdictsOf(judged({ data: [one, one, { ...one, tracking_id: "u" }] }), known()).map(({ status }) => status),
      ["accepted", "duplicate", "accepted"],
    )
  })

  it("judge CloudEvents, of which the type is at fault", () => {
    const type = "application/cloudevents-batch+json"
    const event = (name: string) => ({
      specversion: "1.0",
      id: name,
      source: "/s",
      type: name,
      data: { tracking_id: "t" },
    })
    const items = judged(
      [event("a.click"), event("a.clik"), event("shop.paid"), { id: "x" }],
      { "content-type": type },
      [
        "paid",
      ],
    )
    assert.deepStrictEqual(
      verdictsOf(items, known()).map(({ pointer, status }) => [status, pointer]),
      [["accepted", undefined], ["rejected", "/1/type"], ["accepted", undefined], ["rejected", "/3"]],
    )
  })

  it("leave out reasons once an answer has very many, and never the status", () => {
    const name = "n".repeat(150)
    const items = judged(Array.from({ length: 3_000 }, (_, n) => ({ event: `${name}${n}`, tracking_id: "t" })))
    const verdicts = verdictsOf(items, known())
    assert.isTrue(verdicts.every(({ status }) => status === "rejected"))
    assert.isDefined(verdicts[0]!.reason)
    assert.isUndefined(verdicts.at(-1)!.reason)
    assert.isBelow(JSON.stringify(verdicts).length, 450_000)
  })
})
