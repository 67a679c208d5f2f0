import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { it } from "vitest"
import { Audit } from "../../src/accounts/Audit.ts"
import { AuditChain, type ChainName, expire } from "../../src/accounts/AuditChain.ts"
import { type ChainLink, chainStart, checkLines, lineOf, linkAfter } from "../../src/accounts/AuditLine.ts"
import { SecurityLog } from "../../src/accounts/SecurityLog.ts"
import { Changes } from "../../src/organizations/Changes.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

const entry = (id: number) => ({
  id,
  at: new Date(id * 1000),
  org: "acme",
  actor: "ann@example.com",
  actorId: null,
  action: "key created",
  subject: `key "${id}"`,
  address: null,
  refusal: null,
  details: '{"name": "CRM",\n "hash":"x"}',
  changes: null,
})

/** The lines of `count` entries, as `audit export` writes them. */
const linesOf = (count: number) => {
  const lines: Array<string> = []
  let last: ChainLink = chainStart
  for (let id = 1; id <= count; id++) {
    const next = linkAfter(last, entry(id))
    lines.push(lineOf(last, entry(id), next.hash))
    last = next
  }
  return { lines, last }
}

describe("checkLines", () => {
  const { last, lines } = linesOf(4)

  it("accepts a whole chain, whose lines are JSON without line breaks", () => {
    assert.deepStrictEqual(checkLines(chainStart, lines, { seq: 4, hash: last.hash }), { last, fault: undefined })
    for (const line of lines) assert.deepInclude(JSON.parse(line), { org: "acme", details: { name: "CRM", hash: "x" } })
  })

  it.each<readonly [string, ReadonlyArray<string>, number, string]>([
    ["removed", lines.toSpliced(1, 1), 2, "is missing"],
    ["changed", lines.with(1, lines[1]!.replace("ann@", "eve@")), 2, "was changed after it was written"],
    ["given another hash", lines.with(1, lines[1]!.replace(/.{3}"\}$/, '000"}')), 2, "was changed"],
    ["exchanged", [lines[0]!, lines[2]!, lines[1]!, lines[3]!], 2, "is missing"],
    ["made unreadable", lines.with(3, "{"), 4, "is not readable"],
  ])("finds an entry that was %s", (_, broken, seq, reason) => {
    const { fault, last } = checkLines(chainStart, broken)
    assert.strictEqual(fault?.seq, seq)
    assert.include(fault!.reason, reason)
    assert.strictEqual(last.seq, seq - 1)
  })

  it("finds an entry that was inserted with the number of an earlier one", () => {
    const forged = lines[0]!.replace('"seq":1', '"seq":0')
    for (const [at, line, seq] of [[0, forged, 0], [2, lines[1]!, 2]] as const) {
      const { fault } = checkLines(chainStart, lines.toSpliced(at, 0, line))
      assert.strictEqual(fault?.seq, seq)
      assert.include(fault!.reason, `was inserted before entry ${at + 1}`)
    }
  })

  it("finds a chain that was written anew, by a hash that was kept", () => {
    const forged: Array<string> = []
    let link = chainStart
    for (const one of [1, 7, 3, 4].map(entry)) {
      const next = linkAfter(link, one)
      forged.push(lineOf(link, one, next.hash))
      link = next
    }
    assert.isUndefined(checkLines(chainStart, forged).fault)
    assert.deepInclude(checkLines(chainStart, forged, last).fault, { seq: 4 })
  })
})

const layerChain = Layer.mergeAll(Audit.layer, AuditChain.layer, SecurityLog.layer).pipe(
  Layer.provideMerge(Changes.layer),
)

describe("the chain of an audit log", () => {
  layer(layerChain.pipe(Layer.provideMerge(layerMigrated(temporaryEnvironment))), { excludeTestServices: true })(
    (it) => {
      const record = (org: string, count = 1) =>
        Audit.use((audit) =>
          Effect.forEach(
            Array.from({ length: count }, (_, at) => at),
            (at) => audit.recordOfKey("k1", "key created", org, { at }),
            { concurrency: "unbounded", discard: true },
          )
        )

      /** Checks a chain as `parlance audit verify` does. */
      const check = Effect.fnUntraced(function* (name: ChainName) {
        const chain = yield* AuditChain
        const { anchor, head } = yield* chain.ends(name)
        const lines = (yield* chain.page(name, 0, 1000)).map(({ line }) => line)
        const { fault, last } = checkLines(anchor, lines)
        return {
          anchor: anchor.seq,
          last: last.seq,
          head: head.seq,
          isWhole: last.hash === head.hash,
          fault: fault?.seq,
        }
      })

      it.effect("seals concurrent changes without a gap, in the transaction that stores them", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* record("busy", 40)
          const [row] = yield* sql`SELECT count(*)::int AS count FROM audit_entries e WHERE e.seq IS NULL`
          assert.strictEqual(row!["count"], 0)
          const name: ChainName = { org: "busy", log: "changes" }
          assert.deepStrictEqual(yield* check(name), { anchor: 0, last: 40, head: 40, isWhole: true, fault: undefined })
          const chain = yield* AuditChain
          const pages = yield* Effect.forEach([0, 15, 30], (after) => chain.page(name, after, 15))
          assert.deepStrictEqual(pages.flat(), yield* chain.page(name, 0, 1000))
        }))

      it.effect("shows a changed entry, a removed entry and a removed end", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const name: ChainName = { org: "broken", log: "changes" }
          yield* record("broken", 6)
          yield* sql`UPDATE audit_entries e SET actor = 'Mallory' WHERE e.org_slug = 'broken' AND e.seq = 5`
          assert.strictEqual((yield* check(name)).fault, 5)
          yield* sql`DELETE FROM audit_entries e WHERE e.org_slug = 'broken' AND e.seq = 3`
          assert.strictEqual((yield* check(name)).fault, 3)
          yield* sql`DELETE FROM audit_entries e WHERE e.org_slug = 'broken' AND e.seq >= 3`
          assert.deepInclude(yield* check(name), { last: 2, head: 6, isWhole: false, fault: undefined })
          yield* sql`
            INSERT INTO audit_entries (org_slug, at, actor, action, subject, details, seq, hash)
            VALUES ('broken', now(), 'Mallory', 'x', '', '{}', -3, 'f00')`
          assert.strictEqual((yield* check(name)).fault, -3)
        }))

      it.effect("continues after the last entry if its head was removed, or an entry was forged after it", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const name: ChainName = { org: "headless", log: "changes" }
          yield* record("headless", 2)
          yield* sql`DELETE FROM audit_chains c WHERE c.org_slug = 'headless'`
          yield* record("headless")
          assert.deepInclude(yield* check(name), { last: 3, head: 3, isWhole: true, fault: undefined })
          yield* sql`
            INSERT INTO audit_entries (org_slug, at, actor, action, subject, details, seq, hash)
            VALUES ('headless', now(), 'Mallory', 'x', '', '{}', 4, 'f00')`
          yield* record("headless")
          assert.deepInclude(yield* check(name), { last: 3, head: 5, isWhole: false, fault: 4 })
        }))

      it.effect("leaves an entry whose count changes now for the next seal", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const { sealPending } = yield* AuditChain
          const name: ChainName = { org: "counting", log: "refusals" }
          yield* sql`
            INSERT INTO audit_entries (org_slug, at, actor, action, subject, details, refusal)
            VALUES ('counting', now() - interval '1 hour', 'x', 'y', '', '{"count": 1}', 'csrf')`
          const outside = yield* Effect.context<never>()
          yield* sql.withTransaction(Effect.gen(function* () {
            yield* sql`UPDATE audit_entries e SET details = '{"count": 2}' WHERE e.org_slug = 'counting'`
            yield* Effect.promise(() => Effect.runPromiseWith(outside)(sealPending))
          }))
          yield* sealPending
          assert.deepInclude(yield* check(name), { last: 1, isWhole: true, fault: undefined })
        }))

      it.effect("seals counted entries once their minute is over, and stores later counts in another entry", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const { sealPending } = yield* AuditChain
          const log = yield* SecurityLog
          const name: ChainName = { org: undefined, log: "refusals" }
          log.refused("csrf", { subject: "late" })
          yield* log.write
          yield* sealPending
          assert.strictEqual((yield* check(name)).head, 0)
          yield* Effect.andThen(TestClock.setTime(Date.now() + 180_000), sealPending).pipe(
            Effect.provide(TestClock.layer()),
          )
          assert.deepInclude(yield* check(name), { last: 1, isWhole: true })
          log.refused("csrf", { subject: "late" })
          yield* log.write
          assert.deepInclude(yield* check(name), { last: 1, isWhole: true })
          const rows = yield* sql`SELECT e.seq FROM audit_entries e WHERE e.subject = 'late'`
          assert.lengthOf(rows, 2)
        }))

      it.effect("seals entries of an earlier release in their order", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          for (const subject of ["a", "b"]) {
            yield* sql`
            INSERT INTO audit_entries (org_slug, at, actor, action, subject, details)
            VALUES ('old', now(), 'x', 'y', ${subject}, '{"a" : 1}')`
          }
          yield* record("old")
          const page = yield* (yield* AuditChain).page({ org: "old", log: "changes" }, 0, 10)
          assert.deepStrictEqual(page.map(({ seq, subject }) => [seq, subject]), [[1, "a"], [2, "b"], [3, ""]])
          assert.deepInclude(yield* check({ org: "old", log: "changes" }), { last: 3, isWhole: true })
        }))

      it.effect("keeps an anchor where retention deleted older entries", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const name: ChainName = { org: "aged", log: "changes" }
          for (const days of [900, 800, 5, 850]) {
            yield* sql`
            INSERT INTO audit_entries (org_slug, at, actor, action, subject, details)
            VALUES ('aged', now() - ${days} * interval '1 day', 'x', 'y', '', '{}')`
          }
          const before = new Date(Date.now() - 730 * 86_400_000)
          assert.strictEqual(yield* expire(sql, "changes", before), 2)
          yield* record("aged")
          assert.deepStrictEqual(yield* check(name), { anchor: 2, last: 5, head: 5, isWhole: true, fault: undefined })
          assert.strictEqual(yield* expire(sql, "changes", before), 0, "an old entry waits for younger ones before it")
          assert.isAtLeast(yield* expire(sql, "changes", new Date(Date.now() + 60_000)), 3)
          assert.deepStrictEqual(yield* check(name), { anchor: 5, last: 5, head: 5, isWhole: true, fault: undefined })
        }))
    },
  )
})
