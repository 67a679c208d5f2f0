import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { describe, it as plainIt } from "vitest"
import { Accounts } from "../../src/accounts/Accounts.ts"
import { noGroups } from "../../src/accounts/GroupsClaim.ts"
import { OwnPasskeys } from "../../src/accounts/OwnPasskeys.ts"
import { OwnSecondFactor } from "../../src/accounts/OwnSecondFactor.ts"
import { Passkeys } from "../../src/accounts/Passkeys.ts"
import { SecondFactors } from "../../src/accounts/SecondFactors.ts"
import { Sessions } from "../../src/accounts/Sessions.ts"
import { SignIn } from "../../src/accounts/SignIn.ts"
import { limits } from "../../src/accounts/SignInLimits.ts"
import { siteOf } from "../../src/accounts/WebAuthn.ts"
import { softAuthenticator } from "../support/softAuthenticator.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"
import { layerAccounts } from "./layerAccounts.ts"

const password = "several unrelated words"
const client = { userAgent: "test", address: "192.0.2.1" }
const origin = "https://crm.example.com"
const site = { origin, rpId: "crm.example.com" }

describe("siteOf", () => {
  plainIt("returns the origin and the domain that browsers bind passkeys to", () => {
    assert.deepStrictEqual(siteOf(`${origin}/below`), site)
    assert.deepStrictEqual(siteOf("http://localhost:8080"), { origin: "http://localhost:8080", rpId: "localhost" })
    for (const url of ["http://crm.example.com", "https://192.0.2.1", "https://[2001:db8::1]", "http://"]) {
      assert.isUndefined(siteOf(url), url)
    }
  })
})

describe("passkeys", () => {
  const environment = Effect.map(temporaryEnvironment, (env) => ({
    ...env,
    SECRET_KEY: "5e".repeat(32),
    PUBLIC_URL: origin,
    MAIL_URL: "smtp://127.0.0.1:9",
    MAIL_FROM: "parlance@example.com",
  }))

  layer(layerAccounts.pipe(Layer.provideMerge(layerMigrated(environment))), { excludeTestServices: true })((it) => {
    const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provide(effect, TestClock.layer())

    const sessionOf = Effect.fnUntraced(function* (token: string) {
      return (yield* (yield* Sessions).resolve(token)) ?? (yield* Effect.die("no session"))
    })

    const withPassword = Effect.fnUntraced(function* (email: string) {
      const result = yield* (yield* SignIn).withPassword(email, password, client)
      return result.kind === "entered" ? result.token : yield* Effect.die(result.kind)
    })

    /** An account with one passkey. */
    const owner = Effect.fnUntraced(function* (email: string) {
      const own = yield* OwnPasskeys
      const account = yield* (yield* Accounts).create({ email, name: "Ada", password })
      const token = yield* withPassword(email)
      const session = yield* sessionOf(token)
      const device = softAuthenticator(origin)
      const made = device.create(yield* own.begin(session, site, password, client))
      const added = yield* own.add(session, site, "Laptop", JSON.stringify(made))
      return { account, device, token, made, ...added }
    })

    type Device = ReturnType<typeof softAuthenticator>
    const use = Effect.fnUntraced(function* (
      device: Device,
      deviation: Parameters<Device["get"]>[1] = {},
      pending?: string,
    ) {
      const signIn = yield* SignIn
      const options = yield* signIn.beginPasskey(site, client, pending)
      return yield* signIn.withPasskey(site, JSON.stringify(device.get(options, deviation)), client, pending)
    })
    const refusal = (effect: ReturnType<typeof use>) =>
      Effect.map(Effect.flip(effect), (error) => "reason" in error ? error.reason : error._tag)

    it.effect("sign in alone, and are listed with their last use", () =>
      timed(Effect.gen(function* () {
        const passkeys = yield* Passkeys
        const { account, device, passkey, recoveryCodes } = yield* owner("alone@example.com")
        assert.deepStrictEqual([passkey.name, passkey.domain, passkey.synced], ["Laptop", "crm.example.com", false])
        assert.isNull(passkey.last_used_at)
        assert.strictEqual(recoveryCodes?.length, 10)
        yield* TestClock.adjust("1 hour")
        const entered = yield* use(device)
        assert.strictEqual(entered.account.id, account.id)
        const session = yield* sessionOf(entered.token)
        assert.deepStrictEqual([session.method, session.hasSecondFactor], ["passkey", true])
        const [listed] = yield* passkeys.list(account.id)
        assert.strictEqual(listed?.last_used_at, new Date(session.startedMillis).toISOString())
        assert.strictEqual((yield* passkeys.rename(account.id, passkey.id, "Work")).name, "Work")
      })))

    it.effect("are a second factor after the password, with recovery codes instead", () =>
      timed(Effect.gen(function* () {
        const signIn = yield* SignIn
        const { device, recoveryCodes } = yield* owner("second@example.com")
        const stranger = yield* owner("stranger@example.com")
        const ask = Effect.gen(function* () {
          const result = yield* signIn.withPassword("second@example.com", password, client)
          return result.kind === "code" ? result.pending : yield* Effect.die(result.kind)
        })
        const pending = yield* ask
        assert.strictEqual(yield* refusal(use(stranger.device, {}, pending)), "other_account")
        const options = yield* signIn.beginPasskey(site, client)
        const apart = JSON.stringify(device.get(options))
        const crossed = yield* Effect.flip(signIn.withPasskey(site, apart, client, pending))
        assert.include(crossed.message, "older than 5 minutes", "a challenge of another sign-in")
        const entered = yield* use(device, {}, pending)
        assert.strictEqual((yield* sessionOf(entered.token)).method, "password")
        assert.strictEqual((yield* Effect.flip(signIn.withCode(yield* ask, "123456", client)))._tag, "WrongCode")
        assert.strictEqual((yield* signIn.withCode(yield* ask, recoveryCodes![0]!, client)).proof, "recovery_code")
        assert.strictEqual(yield* refusal(use(device, {}, "forged")), "SignInExpired")
      })))

    it.effect("are refused with a reason, whatever the response deviates in", () =>
      timed(Effect.gen(function* () {
        const signIn = yield* SignIn
        const { device } = yield* owner("refused@example.com")
        const refusedWith = (deviation: Parameters<Device["get"]>[1]) => refusal(use(device, deviation))
        assert.strictEqual(yield* refusedWith({ origin: "https://crm.example.com.evil.example" }), "origin")
        assert.strictEqual(yield* refusedWith({ rpId: "evil.example" }), "invalid")
        assert.strictEqual(yield* refusedWith({ isVerified: false }), "invalid")
        assert.strictEqual(yield* refusedWith({ userHandle: "c29tZWJvZHk" }), "invalid")
        assert.strictEqual(yield* refusal(use(softAuthenticator(origin))), "unknown")
        yield* use(device, { counter: 7 })
        assert.strictEqual(yield* refusedWith({ counter: 7 }), "counter")
        assert.strictEqual(yield* refusedWith({ counter: 0 }), "counter")
        yield* use(device, { counter: 8 })
        const options = yield* signIn.beginPasskey(site, client)
        const forged = device.get(options)
        Object.assign(forged.response, { signature: "AAAA" })
        const answer = JSON.stringify(forged)
        assert.strictEqual(yield* refusal(signIn.withPasskey(site, answer, client)), "invalid")
        const same = JSON.stringify(device.get(options))
        assert.strictEqual(yield* refusal(signIn.withPasskey(site, same, client)), "expired", "replayed challenge")
        const late = yield* signIn.beginPasskey(site, client)
        yield* TestClock.adjust("5 minutes")
        const lateAnswer = JSON.stringify(device.get(late))
        assert.strictEqual(yield* refusal(signIn.withPasskey(site, lateAnswer, client)), "expired")
        for (
          const text of [
            "",
            "null",
            "[]",
            "{}",
            '{"id":"a","response":{}}',
            '{"id":"a","response":{"clientDataJSON":"e30"}}',
            '{"id":"a\\u0000","response":{"clientDataJSON":"eyJjaGFsbGVuZ2UiOiJhIn0"}}',
          ]
        ) {
          assert.strictEqual(yield* refusal(signIn.withPasskey(site, text, client)), "malformed", text)
        }
        assert.strictEqual(yield* refusal(signIn.withPasskey(site, " ".repeat(1e6), client)), "malformed")
      })))

    it.effect("accept a challenge once, even for simultaneous uses", () =>
      timed(Effect.gen(function* () {
        const signIn = yield* SignIn
        const { device } = yield* owner("once@example.com")
        const answer = JSON.stringify(device.get(yield* signIn.beginPasskey(site, client)))
        const outcomes = yield* Effect.all(
          [1, 2, 3].map(() => Effect.result(signIn.withPasskey(site, answer, client))),
          { concurrency: "unbounded" },
        )
        assert.strictEqual(outcomes.filter(({ _tag }) => _tag === "Success").length, 1)
      })))

    it.effect("are added once, by a verified person, with the password or a recent sign-in", () =>
      timed(Effect.gen(function* () {
        const own = yield* OwnPasskeys
        const { made, token } = yield* owner("adds@example.com")
        const session = yield* sessionOf(token)
        assert.strictEqual((yield* Effect.flip(own.begin(session, site, "wrong", client)))._tag, "WrongPassword")
        const again = yield* Effect.flip(own.add(session, site, "Again", JSON.stringify(made)))
        assert.strictEqual(again.reason, "expired")
        for (
          const [deviation, reason] of [
            [{ origin: "https://evil.example" }, "origin"],
            [{ rpId: "evil.example" }, "invalid"],
            [{ isVerified: false }, "invalid"],
          ] as const
        ) {
          const response = softAuthenticator(origin).create(
            yield* own.begin(session, site, password, client),
            deviation,
          )
          assert.strictEqual((yield* Effect.flip(own.add(session, site, "x", JSON.stringify(response)))).reason, reason)
        }
        yield* TestClock.adjust("16 minutes")
        assert.strictEqual((yield* Effect.flip(own.begin(session, site, password, client)))._tag, "SignInTooOld")
      })))

    it.effect("are at most 20, even if they are added at the same time", () =>
      timed(Effect.gen(function* () {
        const own = yield* OwnPasskeys
        const { account, token } = yield* owner("many@example.com")
        const session = yield* sessionOf(token)
        const responses = yield* Effect.forEach(
          Array.from({ length: 21 }),
          () =>
            Effect.map(own.begin(session, site, password, client), (options) =>
              JSON.stringify(softAuthenticator(origin).create(options))),
        )
        const added = yield* Effect.forEach(
          responses,
          (response) =>
            Effect.result(own.add(session, site, "x", response)),
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual(
          added.flatMap((one) => one._tag === "Failure" ? [one.failure.reason] : []),
          ["too_many", "too_many"],
        )
        assert.lengthOf(yield* (yield* Passkeys).list(account.id), 20)
      })))

    it.effect("end the other sessions, and mail their owner", () =>
      timed(Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const own = yield* OwnPasskeys
        yield* (yield* Accounts).create({ email: "mail@example.com", name: "Ada", password })
        const [mine, other] = [yield* withPassword("mail@example.com"), yield* withPassword("mail@example.com")]
        yield* TestClock.adjust("1 hour")
        const session = yield* sessionOf(mine)
        const device = softAuthenticator(origin)
        const made = device.create(yield* own.begin(session, site, password, client))
        yield* own.add(session, site, "Phone", JSON.stringify(made))
        assert.isUndefined(yield* (yield* Sessions).resolve(other))
        const renewed = yield* sessionOf(mine)
        assert.strictEqual(renewed.method, "passkey")
        yield* own.begin(renewed, site, password, client)
        const mails = yield* sql`SELECT m.kind FROM service_mails m WHERE m.recipient = 'mail@example.com'`
        assert.deepStrictEqual(mails, [{ kind: "passkey" }])
      })))

    it.effect("leave no recovery code when the last second factor goes", () =>
      timed(Effect.gen(function* () {
        const accounts = yield* Accounts
        const own = yield* OwnPasskeys
        const factors = yield* SecondFactors
        const { account, device, passkey, token } = yield* owner("last@example.com")
        const session = yield* sessionOf(token)
        const stranger = yield* owner("not-mine@example.com")
        assert.strictEqual(
          (yield* Effect.flip(own.remove(session, stranger.passkey.id, password, client)))._tag,
          "PasskeyNotFound",
        )
        assert.strictEqual(
          (yield* Effect.flip(own.remove(session, passkey.id, "wrong", client)))._tag,
          "WrongPassword",
        )
        yield* own.remove(session, passkey.id, password, client)
        assert.strictEqual(yield* refusal(use(device)), "unknown")
        assert.isFalse((yield* accounts.get(account.id)).second_factor)
        assert.strictEqual((yield* factors.state(account.id)).recovery_codes_left, 0)
      })))

    it.effect("are removed by an administrator's reset, and with the account", () =>
      timed(Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { account, device, token } = yield* owner("reset@example.com")
        yield* (yield* OwnSecondFactor).reset(account.id)
        assert.isUndefined(yield* (yield* Sessions).resolve(token))
        assert.strictEqual(yield* refusal(use(device)), "unknown")
        const gone = yield* owner("gone@example.com")
        yield* (yield* Accounts).remove(gone.account.id)
        assert.strictEqual(yield* refusal(use(gone.device)), "unknown")
        const left = yield* sql`
          SELECT k.id FROM passkeys k WHERE k.account_id = ANY(${[account.id, gone.account.id]}::text[])
          UNION ALL SELECT r.digest FROM recovery_codes r
            WHERE r.account_id = ANY(${[account.id, gone.account.id]}::text[])`
        assert.deepStrictEqual(left, [])
      })))

    it.effect("of another person go when the owner of the address comes from the identity provider", () =>
      timed(Effect.gen(function* () {
        const { device } = yield* owner("foreign@example.com")
        const vouched = { email: "foreign@example.com", name: "Ada", factors: [], groups: Effect.succeed(noGroups) }
        assert.isTrue((yield* (yield* SignIn).withIdentity(vouched, client)).passwordRemoved)
        assert.strictEqual(yield* refusal(use(device)), "unknown")
      })))

    it.effect("count together with passwords of one network until they succeed", () =>
      timed(Effect.gen(function* () {
        const signIn = yield* SignIn
        const { device } = yield* owner("limits@example.com")
        const near = { ...client, address: "198.51.100.7" }
        for (let at = 0; at < 5; at++) {
          const options = yield* signIn.beginPasskey(site, near)
          yield* signIn.withPasskey(site, JSON.stringify(device.get(options)), near)
        }
        for (let at = 0; at < limits.network; at++) yield* signIn.beginPasskey(site, near)
        assert.strictEqual((yield* Effect.flip(signIn.beginPasskey(site, near)))._tag, "TooManyAttempts")
      })))
  })
})
