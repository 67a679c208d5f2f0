import type { RefusalFact } from "../../src/domain/refusals/RefusalTable.ts"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type BodyChunk, bodyReader, type BodyToRead, readBody, slicesOf } from "../../src/intake/BodyReading.ts"
import { normalizer, type Reading } from "../../src/intake/Sources.ts"

const bodyOf = (json: unknown, more: Partial<BodyToRead> = {}): BodyToRead => ({
  id: 1,
  source: "events",
  receivedAt: 1_700_000_000_000,
  headers: {},
  body: new TextEncoder().encode(typeof json === "string" ? json : JSON.stringify(json)),
  reading: undefined,
  ...more,
})
const click = (tracking_id: string) => ({ event: "click", tracking_id, event_id: tracking_id })

describe("readBody", () => {
  it("returns events, profiles, erasures, reasons of ignored items, and at most 100 faults", async () => {
    const chunk = await readBody(
      bodyOf([
        click("a"),
        { event: "open", user_id: "u" },
        ...Array(3).fill({ event: "drafted", user_id: "u" }),
        { event: "retry", user_id: "u" },
        ...Array(150).fill(1),
      ]),
      normalizer("events"),
    )
    assert.deepStrictEqual(chunk.events.map(({ trackingId }) => trackingId), ["a", undefined])
    assert.strictEqual(chunk.ignored, 4)
    assert.deepStrictEqual(chunk.unused.map(({ count, pointer }) => [count, pointer]), [[3, "/2"], [1, "/5"]])
    assert.match(chunk.unused[0]!.reason, /"drafted" says nothing/)
    assert.strictEqual(chunk.faults.length, 100)
  })

  it("returns at most 20 reasons of ignored items", async () => {
    const body = JSON.stringify(Array.from({ length: 50 }, (_, n) => ({ event_type: `users.behaviors.x${n}` })))
    const chunk = await readBody(bodyOf(JSON.parse(body), { source: "provider_a" }), normalizer("provider_a"))
    assert.deepStrictEqual([chunk.ignored, chunk.unused.length], [50, 20])
  })

  it("explains why nothing in a body was understood", async () => {
    assert.match((await readBody(bodyOf("{"), normalizer("events"))).faults[0]!.reason, /not valid JSON/)
    assert.match(
      (await readBody(bodyOf("{}", { source: "new" }), undefined)).faults[0]!.reason,
      /knows no source "new"/,
    )
  })
})

/** Placeholders for items. Only the number of items matters. */
const items = <A>(count: number, prefix: string) => Array.from({ length: count }, (_, n) => `${prefix}${n}` as A)
const bodies = fc.array(
  fc.record({ events: fc.nat(30), profiles: fc.nat(6), erasures: fc.nat(3), ignored: fc.nat(5) }),
  { maxLength: 6 },
).map((all) =>
  all.map(({ erasures, events, ignored, profiles }, id): BodyChunk => ({
    id,
    events: items(events, `e${id}.`),
    profiles: items(profiles, `p${id}.`),
    erasures: items(erasures, `x${id}.`),
    ignored,
    unused: Array.from({ length: ignored }, (_, n) => ({ reason: `${n}`, count: 1, pointer: "" })),
    faults: [{ pointer: "", reason: `${id}` }],
    isLast: true,
  }))
)

describe("slicesOf", () => {
  it("returns every item once and in order, erasures last, and completes each body once", () => {
    fc.assert(fc.property(bodies, fc.integer({ min: 1, max: 25 }), (all, most) => {
      const chunks = slicesOf(all, most).flat()
      for (const body of all) {
        const own = chunks.filter(({ id }) => id === body.id)
        assert.deepStrictEqual(own.flatMap(({ events }) => events), body.events)
        assert.deepStrictEqual(own.flatMap(({ profiles }) => profiles), body.profiles)
        assert.deepStrictEqual(own.flatMap(({ erasures }) => erasures), body.erasures)
        assert.deepStrictEqual(own.flatMap(({ faults }) => faults), body.faults)
        assert.deepStrictEqual(own.flatMap(({ unused }) => unused), body.unused)
        assert.strictEqual(own.reduce((sum, { ignored }) => sum + ignored, 0), body.ignored)
        assert.deepStrictEqual(own.map(({ isLast }) => isLast), own.map((_, n) => n === own.length - 1))
        const firstErasure = own.findIndex(({ erasures }) => erasures.length > 0)
        const behind = firstErasure < 0 ? [] : own.slice(firstErasure + 1)
        assert.isTrue(behind.every(({ events, profiles }) => events.length + profiles.length === 0))
      }
    }))
  })

  it("limits a slice to the size of a transaction", () => {
    fc.assert(fc.property(bodies, fc.integer({ min: 1, max: 25 }), (all, most) => {
      for (const slice of slicesOf(all, most)) {
        const count = (of: "events" | "profiles" | "erasures") =>
          slice.reduce((sum, chunk) => sum + chunk[of].length, 0)
        assert.isAtMost(count("events"), most)
        assert.isAtMost(count("profiles"), Math.ceil(most / 10))
        assert.isAtMost(count("erasures"), most)
      }
    }))
  })
})

describe("bodyReader", () => {
  const mapped: Reading = { conversions: new Set(), mapping: { event: "$.what", tracking_id: "$.id" } }

  it("requests missing settings once and caches them", async () => {
    const answer = bodyReader()
    const body = bodyOf({ what: "click", id: "t" }, { reading: "k" })
    const request = { type: "read", bodies: [body], sliceWeight: 10, refusals: [] } as const
    const noted: Array<number> = []
    const note = (id: number) => void noted.push(id)
    assert.deepStrictEqual(await answer({ ...request, readings: new Map() }, note), {
      type: "missing",
      readings: ["k"],
    })
    for (const readings of [new Map([["k", mapped]]), new Map<string, Reading>()]) {
      const slice = await answer({ ...request, readings }, note)
      assert.deepStrictEqual(slice.type === "slice" && slice.chunks[0]!.events.map(({ trackingId }) => trackingId), [
        "t",
      ])
    }
    assert.deepStrictEqual(noted, [1, 1])
  })

  it("does not apply the settings of one source to another", async () => {
    const answer = bodyReader()
    const read = (source: string) =>
      answer({
        type: "read",
        bodies: [bodyOf({ what: "click", id: "t" }, { source, reading: "k" })],
        readings: new Map([["k", mapped]]),
        sliceWeight: 10,
        refusals: [],
      }, () => {})
    const counts = []
    for (const source of ["events", "provider_a"]) {
      const slice = await read(source)
      counts.push(slice.type === "slice" && slice.chunks[0]!.events.length)
    }
    assert.deepStrictEqual(counts, [1, 0])
  })

  it("reads refusals by the operator's facts as well", async () => {
    const answer = bodyReader()
    const fact = { class: "mailbox-full", phrase: "der Kasten klemmt", source: "our log", date: "2026-11-29" } as const
    const eventWith = async (refusals: ReadonlyArray<RefusalFact>) => {
      const bounce = { event: "bounce", tracking_id: "t", reason: "554 der Kasten klemmt" }
      const slice = await answer(
        { type: "read", bodies: [bodyOf(bounce)], readings: new Map(), sliceWeight: 10, refusals },
        () => {},
      )
      return slice.type === "slice" && slice.chunks[0]!.events[0]!.event
    }
    assert.strictEqual(await eventWith([]), "bounce")
    assert.strictEqual(await eventWith([fact]), "soft_bounce")
    assert.strictEqual(await eventWith([]), "bounce")
  })

  it("returns one slice after another, and an empty last slice when nothing is left", async () => {
    const answer = bodyReader()
    const none = await answer({ type: "next" }, () => {})
    assert.deepStrictEqual(none, { type: "slice", chunks: [], isLast: true })
    const first = await answer({
      type: "read",
      bodies: [bodyOf(Array.from({ length: 25 }, (_, n) => click(`${n}`)))],
      readings: new Map(),
      sliceWeight: 10,
      refusals: [],
    }, () => {})
    const all = [first, await answer({ type: "next" }, () => {}), await answer({ type: "next" }, () => {})]
    assert.deepStrictEqual(
      all.map((slice) => slice.type === "slice" && [slice.chunks[0]!.events.length, slice.isLast]),
      [[10, false], [10, false], [5, true]],
    )
  })
})
