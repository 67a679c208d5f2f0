import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { it } from "vitest"
import { Accounts } from "../../src/accounts/Accounts.ts"
import { Expired } from "../../src/accounts/Expired.ts"
import { SecurityLog } from "../../src/accounts/SecurityLog.ts"
import { maxSubjects, type Occurrence, otherSubjects, SecurityTally } from "../../src/accounts/SecurityTally.ts"
import { Organizations } from "../../src/organizations/Organizations.ts"
import { Changes } from "../../src/organizations/Changes.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

const refusal = (subject: string): Occurrence => ({
  action: "API key refused",
  reason: "bad_key",
  org: "acme",
  subject,
  actor: "x",
  actorId: undefined,
  details: {},
})

describe("the tally of refusals", () => {
  it("has an entry per minute, action and subject, and one for all subjects beyond a limit", () => {
    const tally = new SecurityTally()
    for (let at = 0; at < 1000; at++) tally.add(refusal("one"), `192.0.2.${at % 250}`, 30_000)
    for (let at = 0; at < 100_000; at++) tally.add(refusal(`key ${at}`), "198.51.100.1", 30_000)
    const changed = tally.takeChanged()
    assert.strictEqual(changed.length, maxSubjects.refusals + 1)
    const [one] = changed
    assert.deepStrictEqual([one!.subject, one!.count, one!.minuteMillis], ["one", 1000, 0])
    assert.strictEqual(one!.addresses.size, 5)
    assert.strictEqual(one!.fromOthers, 980)
    const others = changed.find(({ subject }) => subject === otherSubjects)
    assert.strictEqual(others!.count, 100_000 - (maxSubjects.refusals - 1))
    assert.isUndefined(others!.org)
    assert.deepStrictEqual(tally.takeChanged(), [])
    tally.add(refusal("one"), undefined, 60_000)
    assert.strictEqual(tally.takeChanged()[0]!.count, 1, "a new minute")
    tally.forgetWritten(60_000)
    assert.strictEqual(tally.size, 1)
  })

  it("keeps entries that the database did not store, in limited memory", () => {
    const tally = new SecurityTally()
    for (let minute = 0; minute < 1000; minute++) {
      for (let at = 0; at < 30; at++) tally.add(refusal(`key ${at}`), "192.0.2.1", minute * 60_000)
      tally.restore(tally.takeChanged())
    }
    assert.strictEqual(tally.size, 4000)
    assert.strictEqual(tally.changed().length, 4000)
  })
})

const layerLog = SecurityLog.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Accounts.layer, Expired.layer, Organizations.layer)),
  Layer.provideMerge(Changes.layer),
)

describe("the security log", () => {
  const environment = temporaryEnvironment
  layer(layerLog.pipe(Layer.provideMerge(layerMigrated(environment))), { excludeTestServices: true })((it) => {
    const entries = (action: string) =>
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) =>
          sql<
            {
              at: Date
              orgSlug: string | null
              subject: string
              details: Record<string, unknown>
              refusal: string | null
            }
          >`
          SELECT e.at, e.org_slug, e.subject, e.details, e.refusal FROM audit_entries e WHERE e.action = ${action}
          ORDER BY e.id`,
      )

    it.effect("adds later refusals to the entry that was already written", () =>
      Effect.gen(function* () {
        const log = yield* SecurityLog
        yield* (yield* Organizations).create({ slug: "acme" as never, name: "Acme" })
        log.refused("bad_key", { org: "acme", subject: "An unknown key", address: "192.0.2.1" })
        yield* log.write
        log.refused("bad_key", { org: "acme", subject: "An unknown key", address: "192.0.2.2" })
        log.refused("bad_key", { org: "nobody", subject: "An unknown key", address: "192.0.2.3" })
        yield* log.write
        const rows = yield* entries("API key refused")
        const of = (slug: string | null) => rows.filter(({ orgSlug }) => orgSlug === slug)
        const minutes = of("acme").map(({ at }) => at.getTime())
        // One, or two where a minute ended in between.
        assert.strictEqual(new Set(minutes).size, minutes.length, "one entry a minute")
        assert.strictEqual(of("acme").reduce((sum, { details }) => sum + Number(details["count"]), 0), 2)
        assert.deepStrictEqual(of(null).map(({ details, refusal, subject }) => ({ details, refusal, subject })), [
          { subject: "An unknown key", details: { reason: "bad_key", count: 1 }, refusal: "bad_key" },
        ])
      }))

    it.effect("stores the names of accounts, but no other text typed into a sign-in", () =>
      Effect.gen(function* () {
        const log = yield* SecurityLog
        yield* (yield* Accounts).create({ email: "ann@example.com", name: "Ann" })
        for (const email of ["Ann@Example.com", "my secret password", "other secret", "nul\0"]) {
          log.refusedSignIn("bad_password", { email, address: "192.0.2.1" })
        }
        yield* log.write
        const rows = yield* entries("sign-in refused")
        assert.deepStrictEqual(rows.map(({ details, subject }) => [subject, details["count"]]), [
          ["ann@example.com", 1],
          ["An address without an account", 3],
        ])
      }))

    it.effect("removes refusals after 30 days and keeps sign-ins", () =>
      Effect.gen(function* () {
        const log = yield* SecurityLog
        const { id } = yield* (yield* Accounts).create({ email: "kept@example.com", name: "K" })
        log.signedIn({ id, email: "kept@example.com" }, { method: "password" }, "192.0.2.1")
        log.refused("csrf", {})
        yield* log.write
        const { remove } = yield* Expired
        yield* remove
        assert.strictEqual((yield* entries("forged form refused")).length, 1)
        yield* Effect.gen(function* () {
          yield* TestClock.setTime(Date.now() + 31 * 86_400_000)
          yield* remove
        }).pipe(Effect.provide(TestClock.layer()))
        assert.strictEqual((yield* entries("forged form refused")).length, 0)
        const [signedIn] = yield* entries("signed in")
        assert.deepInclude(signedIn, { subject: "kept@example.com", details: { method: "password", count: 1 } })
      }))
  })
})
