import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../src/accounts/Accounts.ts"
import { Expired } from "../../src/accounts/Expired.ts"
import { Invitations } from "../../src/accounts/Invitations.ts"
import { Memberships } from "../../src/accounts/Memberships.ts"
import { OneTimeLinks } from "../../src/accounts/OneTimeLinks.ts"
import { PasswordCost } from "../../src/accounts/Passwords.ts"
import * as Passwords from "../../src/accounts/Passwords.ts"
import { Sessions } from "../../src/accounts/Sessions.ts"
import { SignIn } from "../../src/accounts/SignIn.ts"
import { SignInLimits } from "../../src/accounts/SignInLimits.ts"
import { OrgSlug } from "../../src/domain/Ids.ts"
import { Organizations } from "../../src/organizations/Organizations.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"
import { layerAccounts } from "./layerAccounts.ts"

const acme = Schema.decodeSync(OrgSlug)("acme")
const client = { userAgent: "test", address: "192.0.2.1" }
const token = { kind: "token" } as const

const begun = { method: "password" } as const

describe("accounts", () => {
  const environment = temporaryEnvironment
  // The store opens by the real clock. The tested functions use the clock of the test, which begins at the epoch.
  layer(layerAccounts.pipe(Layer.provideMerge(layerMigrated(environment))), { excludeTestServices: true })((it) => {
    const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provide(effect, TestClock.layer())

    const make = (email: string, password?: string) =>
      Effect.flatMap(
        Accounts,
        (accounts) => accounts.create({ email, name: "Someone", ...(password === undefined ? {} : { password }) }),
      )

    const begin = (id: string) =>
      Effect.flatMap(Sessions, (sessions) => Effect.map(sessions.start(id, client, begun), (token) => token!))

    const attemptAt = (email: string, address = client.address) => ({ email, address, device: undefined })

    const organization = Effect.gen(function* () {
      yield* Effect.ignore((yield* Organizations).create({ slug: acme, name: "Acme" }))
      return acme
    })

    it.effect("lose expired invitations, links and sessions without a sign-in, and keep the others", () =>
      timed(Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const invitations = yield* Invitations
        const links = yield* OneTimeLinks
        const { remove } = yield* Expired
        const org = yield* organization
        const { id } = yield* make("expiring@example.com")
        yield* begin(id)
        yield* Effect.ignore((yield* SignInLimits).attempt(attemptAt("expiring@example.com")))
        yield* links.create("password", id)
        yield* invitations.create(org, { email: "late@example.com", role: "viewer", invitedBy: "x" })
        const counts = Effect.map(
          sql<{ n: number }>`
            SELECT count(*)::int AS n FROM sessions UNION ALL SELECT count(*)::int FROM sign_in_attempts
            UNION ALL SELECT count(*)::int FROM one_time_links UNION ALL SELECT count(*)::int FROM invitations`,
          (rows) => rows.map(({ n }) => n),
        )
        const before = yield* counts
        yield* remove
        assert.deepStrictEqual(yield* counts, before, "all of it is of use still")
        yield* TestClock.adjust("13 hours")
        yield* remove
        assert.deepStrictEqual(yield* counts, [0, 0, 0, before[3]!])
        yield* TestClock.adjust("38 days")
        yield* remove
        assert.deepStrictEqual(yield* counts, [0, 0, 0, 0])
      })))

    it.effect("store only the hash of a password, and match the address in any case", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const sql = yield* SqlClient.SqlClient
        const made = yield* make(" Ann@Example.com ", "several unrelated words")
        assert.strictEqual(made.email, "ann@example.com")
        assert.strictEqual((yield* accounts.verify("ANN@example.com", "several unrelated words"))?.account.id, made.id)
        assert.isUndefined(yield* accounts.verify("ann@example.com", "Several unrelated words"))
        assert.isUndefined(yield* accounts.verify("nobody@example.com", "several unrelated words"))
        const rows = yield* sql<{ password: string }>`SELECT a.password FROM accounts a WHERE a.id = ${made.id}`
        assert.match(rows[0]!.password, /^scrypt\$10\$8\$1\$/)
        assert.strictEqual((yield* Effect.flip(make("ann@example.com")))._tag, "EmailTaken")
      }))

    it.effect("reject every sign-in if they have no password", () =>
      Effect.gen(function* () {
        yield* make("no-password@example.com")
        const accounts = yield* Accounts
        for (const word of ["", "undefined", "null"]) {
          assert.isUndefined(yield* accounts.verify("no-password@example.com", word))
        }
      }))

    it.effect("rehash a password at sign-in once new hashes cost more", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { id } = yield* make("older@example.com")
        const old = yield* Passwords.hash("several unrelated words").pipe(
          Effect.provideService(PasswordCost, { logN: 8, r: 8, p: 1 }),
        )
        yield* sql`UPDATE accounts a SET password = ${old} WHERE a.id = ${id}`
        assert.isDefined(yield* (yield* Accounts).verify("older@example.com", "several unrelated words"))
        const rows = yield* sql<{ password: string }>`SELECT a.password FROM accounts a WHERE a.id = ${id}`
        assert.match(rows[0]!.password, /^scrypt\$10\$/)
        assert.isDefined(yield* (yield* Accounts).verify("older@example.com", "several unrelated words"))
      }))

    it.effect("refuse passwords that are short, common, or the address", () =>
      Effect.gen(function* () {
        for (
          const word of [
            "",
            "short",
            "ninechars",
            "password123",
            "Qwertyuiop1",
            "Manchester!",
            "terminator2029",
            "Summer2026!",
            "correcthorsebatterystaple",
            "adminadmin",
            "rootroot12",
            "1234567890",
            "aaaaaaaaaaaa",
            "weak@example.com",
            "x".repeat(201),
          ]
        ) {
          const error = yield* Effect.flip(make("weak@example.com", word))
          assert.strictEqual(error._tag, "InvalidInput", word)
        }
        assert.isUndefined(yield* (yield* Accounts).findByEmail("weak@example.com"))
        // Ten characters, not ten bytes or UTF-16 units.
        yield* make("emoji@example.com", "åäö éèê ñüç")
      }))

    it.effect("end a session after 12 hours without use, after 30 days, and on request", () =>
      timed(Effect.gen(function* () {
        const sessions = yield* Sessions
        const { id } = yield* make("sessions@example.com")
        const idle = yield* begin(id)
        yield* TestClock.adjust("11 hours")
        assert.strictEqual((yield* sessions.resolve(idle))?.account.id, id)
        yield* TestClock.adjust("12 hours")
        assert.isUndefined(yield* sessions.resolve(idle))

        const used = yield* begin(id)
        for (let day = 0; day < 59; day++) {
          yield* TestClock.adjust("11 hours")
          assert.isDefined(yield* sessions.resolve(used))
        }
        for (let day = 0; day < 7; day++) {
          yield* TestClock.adjust("11 hours")
          yield* sessions.resolve(used)
        }
        assert.isUndefined(yield* sessions.resolve(used), "older than 30 days")

        const [one, other] = [yield* begin(id), yield* begin(id)]
        const listed = yield* sessions.list(id, (yield* sessions.resolve(one))!.sessionId)
        assert.deepStrictEqual(listed.map(({ current }) => current).sort(), [false, true])
        const stranger = yield* make("stranger@example.com")
        assert.strictEqual((yield* Effect.flip(sessions.revoke(stranger.id, listed[0]!.id)))._tag, "SessionNotFound")
        yield* sessions.end(one)
        assert.isUndefined(yield* sessions.resolve(one))
        assert.isDefined(yield* sessions.resolve(other))
        yield* sessions.revokeAll(id)
        assert.isUndefined(yield* sessions.resolve(other))
        for (const text of ["", "x", "x".repeat(43), "é".repeat(43), "\0".repeat(43)]) {
          assert.isUndefined(yield* sessions.resolve(text))
        }
      })))

    it.effect("store only digests of the tokens of sessions, links and invitations", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const org = yield* organization
        const { id } = yield* make("digests@example.com")
        const tokens = [
          yield* begin(id),
          yield* (yield* OneTimeLinks).create("password", id),
          (yield* (yield* Invitations).create(org, { email: "d@example.com", role: "viewer", invitedBy: "t" })).token,
        ]
        const rows = [
          ...yield* sql`SELECT s.* FROM sessions s`,
          ...yield* sql`SELECT l.* FROM one_time_links l`,
          ...yield* sql`SELECT i.* FROM invitations i`,
        ]
        for (const one of tokens) assert.notInclude(JSON.stringify(rows), one)
      }))

    it.effect("allow ten attempts per account in 15 minutes, even for simultaneous attempts", () =>
      timed(Effect.gen(function* () {
        const signIn = yield* SignIn
        yield* make("guessed@example.com", "several unrelated words")
        const attempt = (word: string, address = client.address) =>
          Effect.flip(signIn.withPassword("Guessed@example.com", word, { ...client, address }))
        const errors = yield* Effect.all(
          Array.from({ length: 14 }, (_, index) => attempt(`wrong word ${index}`)),
          { concurrency: "unbounded" },
        )
        assert.strictEqual(errors.filter(({ _tag }) => _tag === "WrongPassword").length, 10)
        const limited = yield* attempt("several unrelated words")
        if (limited._tag !== "TooManyAttempts") return assert.fail(limited._tag)
        assert.isTrue(limited.retryAfterSeconds > 0 && limited.retryAfterSeconds <= 900)
        yield* TestClock.adjust(`${limited.retryAfterSeconds} seconds`)
        const { account } = yield* signIn.withPassword("guessed@example.com", "several unrelated words", client)
        assert.strictEqual(account.email, "guessed@example.com")
        assert.strictEqual((yield* attempt("wrong again"))._tag, "WrongPassword", "a success starts anew")
      })))

    it.effect("limit attempts from one address over all accounts, including unknown ones", () =>
      timed(Effect.gen(function* () {
        const limits = yield* SignInLimits
        for (let index = 0; index < 60; index++) {
          yield* limits.attempt(attemptAt(`spray-${index}@example.com`, "203.0.113.9"))
        }
        assert.strictEqual(
          (yield* Effect.flip(limits.attempt(attemptAt("spray-60@example.com", "203.0.113.9"))))._tag,
          "TooManyAttempts",
        )
        yield* limits.attempt(attemptAt("spray-61@example.com", "203.0.113.10"))
      })))

    it.effect("keep the day of their last use after their sessions have ended", () =>
      timed(Effect.gen(function* () {
        const memberships = yield* Memberships
        const sessions = yield* Sessions
        const org = yield* organization
        const { id } = yield* make("seen@example.com")
        yield* memberships.put(org, id, "viewer", token)
        const seen = Effect.map(
          memberships.list(org),
          (members) => members.find(({ account_id }) => account_id === id)!.last_seen_on,
        )
        assert.isNull(yield* seen)
        const session = yield* begin(id)
        assert.strictEqual(yield* seen, "1970-01-01")
        for (
          const [duration, day] of [["11 hours", "1970-01-01"], ["11 hours", "1970-01-01"], [
            "2 hours",
            "1970-01-02",
          ]] as const
        ) {
          yield* TestClock.adjust(duration)
          yield* sessions.resolve(session)
          assert.strictEqual(yield* seen, day)
        }
        yield* sessions.end(session)
        assert.strictEqual(yield* seen, "1970-01-02")
      })))

    it.effect("accept an invitation once, within 7 days, and for its own address only", () =>
      timed(Effect.gen(function* () {
        const org = yield* organization
        const invitations = yield* Invitations
        const memberships = yield* Memberships
        const [guest, other] = [yield* make("guest@example.com"), yield* make("other@example.com")]
        const invite = (role: "viewer" | "admin") =>
          invitations.create(org, { email: "Guest@example.com", role, invitedBy: "Ada" })
        const first = yield* invite("viewer")
        const second = yield* invite("viewer")
        assert.strictEqual((yield* Effect.flip(invitations.find(first.token)))._tag, "InvitationNotFound", "replaced")
        assert.strictEqual((yield* Effect.flip(invitations.accept(second.token, other)))._tag, "InvitationNotFound")
        assert.strictEqual(yield* invitations.accept(second.token, guest), org)
        assert.strictEqual((yield* Effect.flip(invitations.accept(second.token, guest)))._tag, "InvitationNotFound")
        yield* memberships.put(org, guest.id, "admin", token)
        const lower = yield* invite("viewer")
        yield* invitations.accept(lower.token, guest)
        const roles = (yield* memberships.list(org)).map(({ email, role }) => [email, role])
        assert.deepInclude(roles, ["guest@example.com", "admin"], "nobody loses rights by accepting")
        const late = yield* invite("viewer")
        yield* TestClock.adjust("7 days")
        assert.strictEqual((yield* Effect.flip(invitations.find(late.token)))._tag, "InvitationNotFound")
        const withdrawn = yield* invite("viewer")
        yield* invitations.revoke(org, withdrawn.id)
        assert.strictEqual((yield* Effect.flip(invitations.accept(withdrawn.token, guest)))._tag, "InvitationNotFound")
      })))

    it.effect("accept a one-time link once within an hour, even for simultaneous uses", () =>
      timed(Effect.gen(function* () {
        const links = yield* OneTimeLinks
        const signIn = yield* SignIn
        const sessions = yield* Sessions
        const { id } = yield* make("linked@example.com", "several unrelated words")
        const before = yield* begin(id)
        const link = yield* links.create("password", id)
        assert.strictEqual((yield* Effect.flip(links.find("first_run", link)))._tag, "LinkSpent")
        assert.strictEqual((yield* Effect.flip(signIn.withLink(link, "short", client)))._tag, "InvalidInput")
        const results = yield* Effect.all(
          ["one of the two words", "other of the two words"].map((word) =>
            Effect.result(signIn.withLink(link, word, client))
          ),
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual(results.map(({ _tag }) => _tag).sort(), ["Failure", "Success"])
        assert.isUndefined(yield* sessions.resolve(before), "a new password ends other sessions")
        const late = yield* links.create("password", id)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual((yield* Effect.flip(links.spend("password", late)))._tag, "LinkSpent")
      })))

    it.effect("lose memberships and sessions when they are removed", () =>
      Effect.gen(function* () {
        const org = yield* organization
        const { id } = yield* make("removed@example.com")
        yield* (yield* Memberships).put(org, id, "editor", token)
        const session = yield* begin(id)
        yield* (yield* Accounts).remove(id)
        assert.isUndefined(yield* (yield* Sessions).resolve(session))
        assert.notInclude((yield* (yield* Memberships).list(org)).map(({ account_id }) => account_id), id)
        assert.strictEqual((yield* Effect.flip((yield* Accounts).remove(id)))._tag, "AccountNotFound")
      }))
  })
})
