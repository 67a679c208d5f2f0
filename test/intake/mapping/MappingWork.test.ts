import { assert, describe, it } from "@effect/vitest"
import { compile, dryRun } from "../../../src/intake/mapping/Mapping.ts"
import { MappingWork, ParsedTexts, TooMuchWork } from "../../../src/intake/mapping/MappingWork.ts"
import { faultsOf, json, least, mapping, receivedAt, rich, understood } from "./mappingSupport.ts"

describe("mapping: limits of work", () => {
  const alternates = (path: (at: number) => unknown) => ({ from: Array.from({ length: 16 }, (_, at) => path(at)) })
  const everywhere = (path: (at: number) => unknown) => ({
    ...Object.fromEntries(
      ["event", "tracking_id", "template_id", "user", "event_id", "message_id", "occurred_at", "link", "time_zone"]
        .map((name) => [name, alternates(path)]),
    ),
    where: Array.from({ length: 16 }, () => ({ ...alternates(path), op: "not_exists" })),
  })
  const refused = (input: unknown, body: unknown) => {
    const result = compile(mapping(input))(json(body), {}, receivedAt)
    return "reason" in result ? result.reason : assert.fail("the mapping read the body")
  }

  it("parses a JSON text inside an item once for all rules", () => {
    const work = new MappingWork()
    const texts = new ParsedTexts(work)
    const text = JSON.stringify({ ids: Array.from({ length: 10_000 }, (_, i) => i) })
    const [first] = texts.parse(text)
    const once = work.spent
    for (let i = 0; i < 100; i++) assert.strictEqual(texts.parse(text)[0], first)
    assert.strictEqual(work.spent - once, 100)
  })

  it("limits the cache of parsed texts to a few megabytes", () => {
    const texts = new ParsedTexts(new MappingWork())
    const text = (i: number) => JSON.stringify([i, "x".repeat(90_000)])
    const [first] = texts.parse(text(0))
    assert.strictEqual(texts.parse(text(0))[0], first)
    for (let i = 1; i < 100; i++) texts.parse(text(i))
    assert.notStrictEqual(texts.parse(text(0))[0], first)
    assert.deepStrictEqual(texts.parse(text(0))[0], first)
  })

  it("rejects work beyond its limit", () => {
    const work = new MappingWork(100)
    work.spend(100)
    assert.throws(() => work.spend(1), TooMuchWork)
    assert.throws(() => new MappingWork(100).search(90_000, 2_000), TooMuchWork)
  })

  it("rejects a body that takes too much work", () => {
    const lists = { i: Array.from({ length: 3_000 }, () => ({ l: Array.from({ length: 999 }, () => 1) })) }
    const texts = {
      i: Array.from({ length: 60 }, (_, i) => ({ l: [0, 1].map((k) => JSON.stringify([i, k, "x".repeat(90_000)])) })),
    }
    const tooMuch = /^The mapping takes too much work for this body: give it fewer alternates/
    assert.match(refused({ items: "$.i", ...everywhere((at) => `$.l[*].a${at}`) }, lists), tooMuch)
    const inBody = everywhere((at) => ({ path: "$body.i[*].l[*]", json: `$.a${at}` }))
    assert.match(refused({ ...inBody }, texts), tooMuch)
    const run = dryRun(mapping(inBody), json(texts), {}, receivedAt)
    assert.match("reason" in run ? run.reason : "", tooMuch)
  })

  it("reads the largest body with alternates for every member", () => {
    const item = { channel: "email", kind: "open", payload: JSON.stringify({ ids: ["t-1"] }), person: { id: "u" } }
    const body = { data: { items: Array.from({ length: 20_000 }, (_, uid) => ({ ...item, uid })) } }
    assert.lengthOf(understood(rich, body).events, 20_000)
  })

  it("reads at most 20,000 items of a body at any position", () => {
    const body = { a: Array.from({ length: 2_001 }, () => ({ b: Array.from({ length: 10 }, () => 1) })) }
    const reason = "The mapping finds more than 20000 items; at most 20000 are read of one body"
    for (const items of ["$.a[*].b", "$.a[*].b[*]", { path: "$.t", json: "$.a[*].b" }]) {
      assert.strictEqual(refused({ ...least, items }, { ...body, t: JSON.stringify(body) }), reason)
    }
    assert.strictEqual(understood({ ...least, items: "$.a" }, body).items, 2_001)
    assert.strictEqual(refused(least, Array.from({ length: 20_001 }, () => 1)), reason)
  })

  it("shortens long values in a dry run", () => {
    const run = dryRun(
      mapping({ ...least, automated: "$.m" }),
      json({ kind: "open", tid: "t", m: "m".repeat(90_000) }),
      {},
      0,
    )
    if ("reason" in run) return assert.fail(run.reason)
    assert.strictEqual(run.explained[0]!.found["automated"]!.value, `${"m".repeat(500)}…`)
  })

  it("reports one fault for a mapping with too many values", () => {
    assert.deepStrictEqual(faultsOf({ ...least, where: Array.from({ length: 300_000 }, () => 1) }), [
      { pointer: "", detail: "must have at most 20,000 values in all its lists and tables" },
    ])
  })
})
