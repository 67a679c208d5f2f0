import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Secret, TOTP } from "otpauth"
import { describe, it as plainIt } from "vitest"
import { Accounts } from "../../src/accounts/Accounts.ts"
import { noGroups } from "../../src/accounts/GroupsClaim.ts"
import { OneTimeLinks } from "../../src/accounts/OneTimeLinks.ts"
import { OwnSecondFactor } from "../../src/accounts/OwnSecondFactor.ts"
import { SecondFactors } from "../../src/accounts/SecondFactors.ts"
import { Sessions } from "../../src/accounts/Sessions.ts"
import { SignIn } from "../../src/accounts/SignIn.ts"
import { limits } from "../../src/accounts/SignInLimits.ts"
import * as Totp from "../../src/accounts/Totp.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"
import { layerAccounts } from "./layerAccounts.ts"

const password = "several unrelated words"
const client = { userAgent: "test", address: "192.0.2.1" }

const codeAt = (secret: string, millis: number) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: millis })

describe("Codes", () => {
  plainIt("are accepted of the current step and its neighbours, once", () => {
    const secret = Totp.makeSecret()
    const now = 1_700_000_015_000
    const step = Math.floor(now / 30_000)
    for (
      const [seconds, expected] of [[-60, undefined], [-30, step - 1], [0, step], [30, step + 1], [
        60,
        undefined,
      ]] as const
    ) {
      assert.strictEqual(
        Totp.stepOf(secret, codeAt(secret, now + seconds * 1000), now, undefined),
        expected,
        `${seconds} s`,
      )
    }
    assert.isUndefined(Totp.stepOf(secret, codeAt(secret, now), now, step), "used")
    assert.isUndefined(Totp.stepOf(secret, codeAt(secret, now - 30_000), now, step), "older than the one that was used")
    assert.strictEqual(Totp.stepOf(secret, codeAt(secret, now).replace(/(...)/, " $1 "), now, undefined), step)
    for (const text of ["", "12345", "1234567", "abcdef", "１２３４５６", "\0".repeat(6), "1".repeat(1e6)]) {
      assert.isUndefined(Totp.stepOf(secret, text, now, undefined), text.slice(0, 20))
    }
  })

  plainIt("are named to the app with the account and the issuer", () => {
    const uri = new URL(Totp.uriOf("JBSWY3DPEHPK3PXP", "ann+x@example.com"))
    assert.strictEqual(uri.protocol, "otpauth:")
    assert.strictEqual(uri.searchParams.get("secret"), "JBSWY3DPEHPK3PXP")
    assert.strictEqual(uri.searchParams.get("issuer"), "Parlance")
    assert.include(decodeURIComponent(uri.pathname), "Parlance:ann+x@example.com")
  })

  plainIt("for recovery are random, and belong to one account", () => {
    const codes = new Set(Array.from({ length: 1000 }, Totp.makeRecoveryCode))
    assert.strictEqual(codes.size, 1000)
    for (const code of codes) assert.match(code, /^[a-z2-9]{4}(-[a-z2-9]{4}){3}$/)
    const [code] = codes
    assert.strictEqual(
      Totp.recoveryDigest("a", code!),
      Totp.recoveryDigest("a", ` ${code!.toUpperCase().replaceAll("-", " ")}`),
    )
    assert.notStrictEqual(Totp.recoveryDigest("a", code!), Totp.recoveryDigest("b", code!))
    assert.isUndefined(Totp.recoveryDigest("a", "123456"))
  })
})

describe("Second factors", () => {
  const environment = temporaryEnvironment
  const withKey = Effect.map(environment, (env) => ({ ...env, SECRET_KEY: "5e".repeat(32) }))

  layer(layerAccounts.pipe(Layer.provideMerge(layerMigrated(withKey))), { excludeTestServices: true })((it) => {
    const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provide(effect, TestClock.layer())

    const session = Effect.fnUntraced(function* (token: string | undefined) {
      const found = yield* (yield* Sessions).resolve(token ?? "")
      return found ?? (yield* Effect.die("no session"))
    })

    const now = Effect.map(DateTime.nowAsDate, (date) => date.getTime())

    /** An account with a second factor, whose codes start at the next step. */
    const secured = Effect.fnUntraced(function* (email: string) {
      const signIn = yield* SignIn
      const own = yield* OwnSecondFactor
      const account = yield* (yield* Accounts).create({ email, name: "Someone", password })
      const entered = yield* signIn.withPassword(email, password, client)
      if (entered.kind !== "entered") return yield* Effect.die(entered.kind)
      const { secret } = yield* own.begin(yield* session(entered.token), password, client)
      const recovery = yield* own.confirm(yield* session(entered.token), codeAt(secret, yield* now))
      yield* TestClock.adjust("30 seconds")
      return { account, secret, recovery, token: entered.token, device: entered.device }
    })

    const askedFor = Effect.fnUntraced(function* (email: string, address = client.address) {
      const result = yield* (yield* SignIn).withPassword(email, password, { ...client, address })
      return result.kind === "code" ? result.pending : yield* Effect.die(result.kind)
    })

    it.effect("are set up with the password and a first code, and end other sessions", () =>
      timed(Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const signIn = yield* SignIn
        const own = yield* OwnSecondFactor
        const factors = yield* SecondFactors
        const { id } = yield* (yield* Accounts).create({ email: "set-up@example.com", name: "S", password })
        const tokens: Array<string> = []
        for (let at = 0; at < 2; at++) {
          const entered = yield* signIn.withPassword("set-up@example.com", password, client)
          if (entered.kind === "entered") tokens.push(entered.token)
        }
        const mine = yield* session(tokens[0])
        assert.strictEqual((yield* Effect.flip(own.begin(mine, "not the password", client)))._tag, "WrongPassword")
        assert.strictEqual((yield* Effect.flip(own.confirm(mine, "123456")))._tag, "SecondFactorOff")
        const { secret, uri } = yield* own.begin(mine, password, client)
        assert.include(uri, secret)
        assert.isFalse((yield* factors.state(id)).enabled, "not before the first code")
        assert.strictEqual((yield* signIn.withPassword("set-up@example.com", password, client)).kind, "entered")
        assert.strictEqual((yield* Effect.flip(own.confirm(mine, "000000")))._tag, "WrongCode")
        const codes = yield* own.confirm(mine, codeAt(secret, yield* now))
        assert.strictEqual(codes.length, Totp.recoveryCodeCount)
        assert.isUndefined(yield* (yield* Sessions).resolve(tokens[1]!))
        assert.isTrue((yield* session(tokens[0])).hasSecondFactor)
        const { enabled, recovery_codes_left } = yield* factors.state(id)
        assert.deepStrictEqual([enabled, recovery_codes_left], [true, Totp.recoveryCodeCount])
        assert.strictEqual((yield* Effect.flip(own.begin(mine, password, client)))._tag, "SecondFactorOn")
        const rows = [
          ...yield* sql`SELECT f.secret FROM second_factors f`,
          ...yield* sql`SELECT r.* FROM recovery_codes r`,
        ]
        for (const hidden of [secret, ...codes]) assert.notInclude(JSON.stringify(rows), hidden)
      })))

    it.effect("accept each code once, even for simultaneous uses", () =>
      timed(Effect.gen(function* () {
        const signIn = yield* SignIn
        const { secret } = yield* secured("once@example.com")
        const pending = yield* askedFor("once@example.com")
        assert.strictEqual((yield* Effect.flip(signIn.withCode(pending, "000000", client)))._tag, "WrongCode")
        const code = codeAt(secret, yield* now)
        const results = yield* Effect.all(
          Array.from({ length: 3 }, () => Effect.result(signIn.withCode(pending, code, client))),
          { concurrency: "unbounded" },
        )
        assert.strictEqual(results.filter(({ _tag }) => _tag === "Success").length, 1)
        const again = yield* Effect.flip(signIn.withCode(yield* askedFor("once@example.com"), code, client))
        assert.strictEqual(again._tag, "WrongCode", "replayed")
        yield* TestClock.adjust("30 seconds")
        const entered = yield* signIn.withCode(pending, codeAt(secret, yield* now), client)
        assert.strictEqual(entered.proof, "totp")
        assert.strictEqual((yield* session(entered.token)).account.email, "once@example.com")
      })))

    it.effect("accept each recovery code once, and no replaced one", () =>
      timed(Effect.gen(function* () {
        const signIn = yield* SignIn
        const own = yield* OwnSecondFactor
        const factors = yield* SecondFactors
        const { account, recovery, secret } = yield* secured("recovery@example.com")
        const use = (code: string) =>
          Effect.flatMap(askedFor("recovery@example.com"), (pending) =>
            Effect.result(signIn.withCode(pending, code, client)))
        const first = yield* use(recovery[0]!)
        assert.strictEqual(first._tag === "Success" && first.success.proof, "recovery_code")
        assert.strictEqual((yield* factors.state(account.id)).recovery_codes_left, Totp.recoveryCodeCount - 1)
        const again = yield* use(recovery[0]!)
        assert.strictEqual(again._tag === "Failure" && again.failure._tag, "WrongCode")
        if (first._tag === "Failure") {
          return assert.fail("not signed in")
        }
        const mine = yield* session(first.success.token)
        const fresh = yield* own.renewRecoveryCodes(mine, password, codeAt(secret, yield* now), client)
        assert.strictEqual((yield* use(recovery[1]!))._tag, "Failure")
        assert.strictEqual((yield* use(fresh[1]!))._tag, "Success")
      })))

    it.effect("limit attempts, for every client that knows the password", () =>
      timed(Effect.gen(function* () {
        const signIn = yield* SignIn
        const { device, secret } = yield* secured("limited@example.com")
        const tags: Array<string> = []
        for (let at = 0; at < limits.code + 2; at++) {
          const address = `203.0.113.${at}`
          const pending = yield* askedFor("limited@example.com", address)
          tags.push(
            (yield* Effect.flip(signIn.withCode(pending, String(at).padStart(6, "0"), { ...client, address })))._tag,
          )
        }
        assert.deepStrictEqual(tags, [...Array(limits.code).fill("WrongCode"), ...Array(2).fill("TooManyAttempts")])
        const code = codeAt(secret, yield* now)
        const late = yield* Effect.flip(signIn.withCode(yield* askedFor("limited@example.com"), code, client))
        assert.strictEqual(late._tag, "TooManyAttempts", "the right code neither")
        const known = { ...client, deviceCookie: device }
        const own = yield* signIn.withCode(yield* askedFor("limited@example.com"), code, known)
        assert.strictEqual(own.kind, "entered", "the owner's device has attempts of its own")
      })))

    it.effect("keep a sign-in pending for ten minutes, while its password is valid", () =>
      timed(Effect.gen(function* () {
        const signIn = yield* SignIn
        const { account, secret } = yield* secured("pending@example.com")
        const expired = Effect.fnUntraced(function* (pending: string) {
          const error = yield* Effect.flip(signIn.withCode(pending, codeAt(secret, yield* now), client))
          assert.strictEqual(error._tag, "SignInExpired")
        })
        for (const text of ["", "x", `${account.id}:password:99999999999999:0.x`, "\0", "é".repeat(500)]) {
          yield* expired(text)
        }
        const late = yield* askedFor("pending@example.com")
        yield* expired(late.replace(account.id, "acc_0000000000000000"))
        yield* TestClock.adjust("10 minutes")
        yield* expired(late)
        const before = yield* askedFor("pending@example.com")
        yield* TestClock.adjust("30 seconds")
        yield* (yield* Accounts).setPassword(account.id, "other unrelated words", "own")
        yield* expired(before)
      })))

    it.effect("require a code after a password link, but not after the identity provider", () =>
      timed(Effect.gen(function* () {
        const signIn = yield* SignIn
        const { account, secret } = yield* secured("ways@example.com")
        const link = yield* (yield* OneTimeLinks).create("password", account.id)
        const chosen = yield* signIn.withLink(link, "other unrelated words", client)
        if (chosen.kind !== "code") return assert.fail(chosen.kind)
        const { token } = yield* signIn.withCode(chosen.pending, codeAt(secret, yield* now), client)
        assert.strictEqual((yield* session(token)).method, "link")
        const identity = {
          email: "ways@example.com",
          name: "W",
          factors: ["pwd", "mfa"],
          groups: Effect.succeed(noGroups),
        }
        const vouched = yield* signIn.withIdentity(identity, client)
        const mine = yield* session(vouched.token)
        assert.deepStrictEqual([mine.method, mine.hasSecondFactor], ["openid", true])
      })))

    it.effect("are removed with a password chosen by somebody else, and kept with the owner's", () =>
      timed(Effect.gen(function* () {
        const signIn = yield* SignIn
        const accounts = yield* Accounts
        const factors = yield* SecondFactors
        const { account, token } = yield* secured("hijacked@example.com")
        const identity = { email: "hijacked@example.com", name: "H", factors: [], groups: Effect.succeed(noGroups) }
        const first = yield* signIn.withIdentity(identity, client)
        assert.isTrue(first.passwordRemoved)
        assert.isUndefined(yield* (yield* Sessions).resolve(token), "the other's session has ended")
        assert.isFalse((yield* factors.state(account.id)).enabled, "the other's app opens nothing")
        assert.isFalse((yield* accounts.get(account.id)).has_password)
        const mine = yield* session(first.token)
        const own = yield* signIn.changePassword(mine, "", "my own unrelated words", client)
        const second = yield* signIn.withIdentity(identity, client)
        assert.isFalse(second.passwordRemoved, "the owner's own password stays")
        assert.isDefined(yield* (yield* Sessions).resolve(own.token))
        yield* TestClock.adjust("16 minutes")
        const link = yield* (yield* OneTimeLinks).create("password", account.id)
        yield* signIn.withLink(link, "words of an administrator", client)
        assert.isTrue((yield* signIn.withIdentity(identity, client)).passwordRemoved, "a link proves nothing")
        const late = yield* signIn.withIdentity(identity, client)
        yield* TestClock.adjust("16 minutes")
        const error = yield* Effect.flip(
          signIn.changePassword(yield* session(late.token), "", "my own words again", client),
        )
        assert.strictEqual(error._tag, "SignInTooOld")
      })))

    it.effect("reject a pending sign-in whose password was removed", () =>
      timed(Effect.gen(function* () {
        const accounts = yield* Accounts
        const sessions = yield* Sessions
        const { id } = yield* accounts.create({ email: "race@example.com", name: "R", password }, "invitation")
        const verified = yield* accounts.verify("race@example.com", password)
        yield* TestClock.adjust("1 second")
        yield* accounts.dropForeignPassword(id)
        const beginning = { method: "password", passwordSetAt: verified!.passwordSetAt } as const
        assert.isUndefined(yield* sessions.start(id, client, beginning))
      })))

    it.effect("are turned off with password and code, or reset by an administrator", () =>
      timed(Effect.gen(function* () {
        const own = yield* OwnSecondFactor
        const signIn = yield* SignIn
        const { account, recovery, secret, token } = yield* secured("off@example.com")
        const mine = yield* session(token)
        const refused = [
          yield* Effect.flip(own.disable(mine, "not the password", codeAt(secret, yield* now), client)),
          yield* Effect.flip(own.disable(mine, password, "000000", client)),
        ]
        assert.deepStrictEqual(refused.map(({ _tag }) => _tag), ["WrongPassword", "WrongCode"])
        yield* own.disable(mine, password, recovery[0]!, client)
        assert.strictEqual((yield* signIn.withPassword("off@example.com", password, client)).kind, "entered")
        const again = yield* own.begin(mine, password, client)
        yield* own.confirm(mine, codeAt(again.secret, yield* now))
        yield* own.reset(account.id)
        assert.isUndefined(yield* (yield* Sessions).resolve(token))
        assert.strictEqual((yield* signIn.withPassword("off@example.com", password, client)).kind, "entered")
        assert.strictEqual((yield* Effect.flip(own.reset(account.id)))._tag, "SecondFactorOff")
        assert.strictEqual((yield* Effect.flip(own.reset("acc_nobody")))._tag, "AccountNotFound")
      })))
  })

  layer(layerAccounts.pipe(Layer.provideMerge(layerMigrated(environment))), { excludeTestServices: true })((it) => {
    it.effect("report that they need SECRET_KEY if it is missing", () =>
      Effect.gen(function* () {
        const factors = yield* SecondFactors
        const account = yield* (yield* Accounts).create({ email: "keyless@example.com", name: "K", password })
        const error = yield* Effect.flip(factors.begin(account))
        assert.include(error.message, "SECRET_KEY")
      }))
  })
})
