import { assert, describe, it } from "vitest"
import type { ListedEvent } from "../../src/api/webhooks/WebhooksApi.ts"
import { follow, type Followed, lineOf } from "../../src/cli/EventTail.ts"

const event = (id: string, more: Partial<ListedEvent> = {}): ListedEvent => ({
  source: "events",
  category: "engagement",
  event: "click",
  tracking_id: id,
  user: null,
  email: null,
  event_id: id,
  occurred_at: "2026-05-11T09:00:00.000Z",
  received_at: "2026-05-11T09:00:01.000Z",
  automated: false,
  template_id: "welcome",
  copy_id: "a",
  segment: "",
  status: "attributed",
  ...more,
})

const start: Followed = { cursors: [], seen: new Set() }
const ids = (events: ReadonlyArray<ListedEvent>) => events.map(({ event_id }) => event_id)

describe("following events", () => {
  it("shows each event once, and again when its decision is found", () => {
    const first = follow(start, [event("a"), event("b", { status: "waiting", template_id: null })], "c2")
    assert.deepStrictEqual(ids(first.fresh), ["a", "b"])
    const second = follow(first.next, [event("a"), event("b")], "c2")
    assert.deepStrictEqual(ids(second.fresh), ["b"])
    assert.deepStrictEqual(follow(second.next, [event("a"), event("b")], "c2").fresh, [])
  })

  it("shows events that are stored before the latest cursor", () => {
    const first = follow(start, [event("b")], "c2")
    assert.strictEqual(first.next.cursors[0], "c2")
    const late = follow({ ...first.next, cursors: ["c0", "c2"] }, [event("a"), event("b")], "c2")
    assert.deepStrictEqual(ids(late.fresh), ["a"])
  })

  it("drops a cursor after ten rounds, even without events", () => {
    let { next } = follow(start, [event("a")], "c1")
    for (let round = 2; round <= 10; round++) next = follow(next, [], null).next
    assert.strictEqual(next.cursors.length, 10)
    next = follow(next, [event("b")], "c2").next
    assert.deepStrictEqual([next.cursors.length, next.cursors[0], next.cursors.at(-1)], [10, "c1", "c2"])
  })

  it("prints one line per event", () => {
    assert.strictEqual(
      lineOf(event("trk-1", { automated: true, user: "u-1" })),
      "2026-05-11T09:00:01.000Z  events  click (machine)  trk-1  welcome / a  u-1  attributed",
    )
    assert.include(lineOf(event("x", { tracking_id: null, template_id: null })), "–  –  –")
  })
})
