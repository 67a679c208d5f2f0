import { assert, describe, it } from "@effect/vitest"
import { SeededMap, SeededSet } from "../../src/json/SeededMap.ts"
import { normalizer } from "../../src/intake/Sources.ts"
import { suggestionFor, unknownNameReason } from "../../src/intake/UnknownName.ts"
import { eventsOf, judge, type JudgedItem, verdictsOf as verdictsOn } from "../../src/intake/Verdicts.ts"
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

const verdictsOf = (items: ReadonlyArray<JudgedItem>, known: SeededSet<string>, currency: string | null = null) =>
  verdictsOn(items, known, new SeededMap(), currency)

const known = (...keys: ReadonlyArray<string>) => new SeededSet(keys)

describe("the suggestion for a misspelled name", () => {
  it("is the nearest known or declared name", () => {
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

  it("is absent if no name is near, and never the wildcard", () => {
    for (const name of ["", "x", "page", "newsletter_opened", "c".repeat(5_000)]) {
      assert.isUndefined(suggestionFor(name, ["*"]), name)
    }
    assert.notInclude(unknownNameReason("page", new Set(["*"])), "did you mean")
    assert.include(unknownNameReason("com.shop.clik.v2", new Set()), "did you mean click?")
  })
})

describe("verdicts", () => {
  it("keep the order of the items, and name the member at fault", () => {
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

  it("mark the second of two equal events in one body as a duplicate", () => {
    const one = { event: "click", tracking_id: "t" }
    assert.deepStrictEqual(
      verdictsOf(judged({ data: [one, one, { ...one, tracking_id: "u" }] }), known()).map(({ status }) => status),
      ["accepted", "duplicate", "accepted"],
    )
  })

  it("name each member that cannot be read", () => {
    const sale = { event: "conversion", tracking_id: "t" }
    const given: ReadonlyArray<readonly [Record<string, unknown>, string, string]> = [
      [{ value: "1,234" }, "/value", 'value "1,234" may mean 1.234 or 1234'],
      [{ value: "49.90 €", currency: "USD" }, "/value", "is in EUR, but currency is USD"],
      [{ value: 1e10 }, "/value", "value 10000000000 is beyond 1,000,000,000"],
      [{ value: "" }, "/value", 'value "" is empty'],
      [{ value: true }, "/value", "value true is no amount"],
      [{ value: [49.9] }, "/value", "value a list is no amount"],
      [{ properties: { revenue: {} } }, "/properties/revenue", "revenue an object is no amount"],
      [{ value: 5, currency: "bucks" }, "/currency", 'currency "bucks" is no currency'],
      [{ value: 5, currency: "PTS" }, "/currency", 'currency "PTS" is no ISO 4217 code known here'],
      [{ occurred_at: "yesterday" }, "/occurred_at", 'occurred_at "yesterday" is no time'],
      [{ data: { ts: "28.11.2026 10:18" } }, "/data/ts", 'ts "28.11.2026 10:18" is no time'],
      [{ timestamp: 0 }, "/timestamp", "timestamp 0 is in 1970"],
      [{ time: "2027-02-03T13:00:00Z" }, "/time", "is in the future"],
      [{ automated: "maybe" }, "/automated", 'automated "maybe" is neither true nor false'],
      [{ data: "x" }, "/data", 'data "x" is no object'],
      [{ properties: [] }, "/properties", "properties a list is no object"],
      [{ event_id: {} }, "/event_id", "event_id an object is no id"],
      [{ event_id: "x".repeat(201) }, "/event_id", "is no id"],
    ]
    for (const [members, pointer, reason] of given) {
      const [verdict] = verdictsOf(judged([{ ...sale, ...members }]), known())
      const name = JSON.stringify(members)
      assert.deepInclude(verdict, { status: "incomplete", pointer: `/0${pointer}` }, name)
      assert.include(verdict!.reason, reason, name)
    }
    const [both] = verdictsOf(judged({ ...sale, value: "abc", occurred_at: "now" }), known())
    assert.strictEqual(both!.pointer, "/value")
    assert.include(both!.reason, "The event counts without a value. occurred_at")
    const [byUser] = verdictsOf(judged({ ...sale, tracking_id: {}, user_id: "u" }), known())
    assert.deepInclude(byUser, { status: "incomplete", pointer: "/tracking_id" })
  })

  it("accept readable items, and explain the effect of a refund", () => {
    const sale = { event: "conversion", tracking_id: "t" }
    const read = [
      { value: "49,90 €", occurred_at: "Tue, 03 Feb 2026 12:00:00 +0000", automated: "no" },
      { value: null, occurred_at: null, automated: null, properties: null },
      { value: "USD 1,234.50", currency: "usd", automated: "True" },
    ]
    for (const members of read) {
      assert.deepStrictEqual(verdictsOf(judged({ ...sale, ...members }), known()), [{ index: 0, status: "accepted" }])
    }
    const [refund] = verdictsOf(judged({ ...sale, value: -50 }), known())
    assert.strictEqual(refund!.status, "accepted")
    assert.include(refund!.reason, "The value is paid back")
  })

  it("say that a value in another currency than the organization's counts as 0", () => {
    const sale = { event: "conversion", tracking_id: "t" }
    const reasonOf = (members: Record<string, unknown>, currency: string | null) =>
      verdictsOf(judged({ ...sale, ...members }), known(), currency)[0]!.reason
    for (const members of [{ value: 5, currency: "usd" }, { value: "US$ 5" }, { value: -5, currency: "USD" }]) {
      assert.include(reasonOf(members, "EUR"), "in USD, and revenue of this organization is in EUR")
    }
    assert.isUndefined(reasonOf({ value: 5 }, "EUR"))
    assert.isUndefined(reasonOf({ currency: "USD" }, "EUR"))
    assert.isUndefined(reasonOf({ value: 5, currency: "eur" }, "EUR"))
    assert.isUndefined(reasonOf({ value: 5, currency: "USD" }, null))
  })

  it("mark events outside the counted time of their decision as ignored", () => {
    const click = { event: "click", tracking_id: "t" }
    const items = judged([{ ...click, event_id: "1" }, { ...click, event_id: "1" }, { ...click, event_id: "2" }])
    assert.deepStrictEqual(
      verdictsOn(items, known(), new SeededMap([["id:1", "It happened too late"]]), null).map(({ reason, status }) => [
        status,
        reason,
      ]).filter(([status]) => status !== "duplicate"),
      [["ignored", "It happened too late"], ["accepted", undefined]],
    )
  })

  it("accept an opt-out of a group, and explain when it counts for all e-mail", () => {
    const optOut = { event: "unsubscribe", email: "ann@shop.example" }
    const [ofGroup, ofAll] = verdictsOf(judged([{ ...optOut, list_id: "l-1" }, optOut]), known())
    assert.strictEqual(ofGroup!.status, "accepted")
    assert.include(ofGroup!.reason, 'the group "l-1"')
    assert.deepStrictEqual(ofAll, { index: 1, status: "accepted" })
  })

  it("reject a refund that names no message or no amount", () => {
    const faults: ReadonlyArray<readonly [Record<string, unknown>, string]> = [
      [{ event: "conversion", user_id: "u", value: -5 }, "/tracking_id"],
      [{ event: "refund", tracking_id: "t" }, "/value"],
      [{ event: "refund", tracking_id: "t", data: { amount: "?" } }, "/data/amount"],
    ]
    for (const [item, pointer] of faults) {
      assert.deepInclude(verdictsOf(judged(item), known())[0], { status: "rejected", pointer }, JSON.stringify(item))
    }
  })

  it("report the type of a CloudEvent as the member at fault", () => {
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

  it("omit reasons in very long answers, but never the status", () => {
    const name = "n".repeat(150)
    const items = judged(Array.from({ length: 3_000 }, (_, n) => ({ event: `${name}${n}`, tracking_id: "t" })))
    const verdicts = verdictsOf(items, known())
    assert.isTrue(verdicts.every(({ status }) => status === "rejected"))
    assert.isDefined(verdicts[0]!.reason)
    assert.isUndefined(verdicts.at(-1)!.reason)
    assert.isBelow(JSON.stringify(verdicts).length, 450_000)
  })
})
