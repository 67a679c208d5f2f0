import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { AttributeCounts, type AttributeDay } from "../../src/bandit/AttributeCounts.ts"
import { AttributeStatistics } from "../../src/learning/AttributeStatistics.ts"
import { layerQuiet } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { day, hour } from "./support.ts"

const attrs = (values: Readonly<Record<string, string>>) =>
  new Map(Object.entries(values).map(([name, value]) => [name, [value]] as const))

/** Sends and counts over all days, in a form to compare. */
const totals = (days: ReadonlyArray<AttributeDay>) => {
  const attributeCounts = new AttributeCounts()
  attributeCounts.merge(days)
  const { keys, sends } = attributeCounts.totals(Date.now())
  return {
    sends,
    keys: Object.fromEntries(
      [...keys].map(([name, { present, values }]) =>
        [name, { present, values: values === undefined ? null : Object.fromEntries([...values].sort()) }] as const
      ).sort(),
    ),
  }
}

const rows = (org: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      Effect.map(
        sql<{ n: number }>`SELECT count(*)::int AS n FROM attribute_counts a WHERE a.org_slug = ${org}`,
        ([row]) => row!.n,
      ),
  )

describe("AttributeStatistics", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("sums the requests between writes by organization and template", () =>
      Effect.gen(function* () {
        const { flush, observe, read } = yield* AttributeStatistics
        const now = Date.now()
        for (let n = 0; n < 10; n++) observe("acme", "t", attrs({ plan: n < 4 ? "pro" : "free" }), now)
        assert.strictEqual(yield* rows("acme"), 0)
        yield* flush
        observe("acme", "t", attrs({ plan: "pro", tier: "gold" }), now)
        observe("acme", "u", attrs({}), now)
        observe("other", "t", attrs({ plan: "none" }), now)
        yield* flush
        yield* flush
        assert.strictEqual(yield* rows("acme"), 3)
        assert.deepStrictEqual(totals(yield* read("acme", "t")), {
          sends: 11,
          keys: {
            plan: { present: 11, values: { free: 6, pro: 5 } },
            tier: { present: 1, values: { gold: 1 } },
          },
        })
        assert.deepStrictEqual(totals(yield* read("acme", "u")), { sends: 1, keys: {} })
        assert.deepStrictEqual(totals(yield* read("other", "t")).keys.plan!.values, { none: 1 })
        assert.deepStrictEqual(yield* read("nobody", "t"), [])
      }))

    it.effect("drops requests older than 14 days", () =>
      Effect.gen(function* () {
        const { flush, observe, read } = yield* AttributeStatistics
        const now = Date.now()
        for (const days of [0, 5, 13, 14, 40]) observe("days", "t", attrs({ day: `d${days}` }), now - days * day)
        yield* flush
        assert.deepStrictEqual(totals(yield* read("days", "t")).keys.day!.values, { d0: 1, d5: 1, d13: 1 })
      }))

    it.effect("samples at most 2,000 requests between two writes", () =>
      Effect.gen(function* () {
        const { flush, observe, read } = yield* AttributeStatistics
        for (let n = 0; n < 5000; n++) observe("busy", "t", attrs({ plan: n % 4 === 0 ? "pro" : "free" }), Date.now())
        yield* flush
        assert.deepStrictEqual(totals(yield* read("busy", "t")), {
          sends: 2000,
          keys: { plan: { present: 2000, values: { free: 1500, pro: 500 } } },
        })
        observe("busy", "t", attrs({}), Date.now())
        yield* flush
        assert.strictEqual(totals(yield* read("busy", "t")).sends, 2001)
      }))

    it.effect("merges rows into one per day without loss, even with concurrent readers and writers", () =>
      Effect.gen(function* () {
        const { flush, observe, read } = yield* AttributeStatistics
        for (let n = 0; n < 150; n++) {
          observe("rows", "t", attrs({ plan: `p${n % 3}` }), Date.now() - (n % 2) * day)
          observe("rows", "u", attrs({ plan: "u" }), Date.now() - hour)
          yield* flush
        }
        assert.strictEqual(yield* rows("rows"), 300)
        const before = totals(yield* read("rows", "u"))
        assert.strictEqual(before.sends, 150)
        const reads = yield* Effect.all(
          [
            ...Array.from({ length: 4 }, () => Effect.asSome(read("rows", "t"))),
            Effect.suspend(() => {
              observe("rows", "t", attrs({ plan: "p0" }), Date.now())
              return Effect.asVoid(flush)
            }),
            ...Array.from({ length: 4 }, () => Effect.asSome(read("rows", "t"))),
          ],
          { concurrency: "unbounded" },
        )
        assert.strictEqual(reads.length, 9)
        const after = totals(yield* read("rows", "t"))
        assert.strictEqual(after.sends, 151)
        assert.deepStrictEqual(after.keys.plan, { present: 151, values: { p0: 51, p1: 50, p2: 50 } })
        assert.isAtMost(yield* rows("rows"), 2 + 1 + 1)
        assert.deepStrictEqual(totals(yield* read("rows", "u")), before)
      }))
  })
})
