import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Accounts } from "../../src/accounts/Accounts.ts"
import { OneTimeLinks } from "../../src/accounts/OneTimeLinks.ts"
import { SignIn } from "../../src/accounts/SignIn.ts"
import { limits, SignInLimits } from "../../src/accounts/SignInLimits.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"
import { layerAccounts } from "./layerAccounts.ts"

const password = "several unrelated words"

describe("limits of signing in", () => {
  const environment = temporaryEnvironment
  layer(layerAccounts.pipe(Layer.provideMerge(layerMigrated(environment))), { excludeTestServices: true })((it) => {
    const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provide(effect, TestClock.layer())

    const make = (email: string) =>
      Effect.flatMap(Accounts, (accounts) => accounts.create({ email, name: "Someone", password }))

    /** Signs in once; returns the tag of the result. */
    const attempt = (email: string, word: string, address: string, deviceCookie?: string) =>
      Effect.flatMap(
        SignIn,
        (signIn) =>
          Effect.match(signIn.withPassword(email, word, { userAgent: "test", address, deviceCookie }), {
            onFailure: ({ _tag }) => _tag as string,
            onSuccess: ({ kind }) => kind as string,
          }),
      )

    const guess = (email: string, address: string, times: number, deviceCookie?: string) =>
      Effect.forEach(
        Array.from({ length: times }),
        (_, index) => attempt(email, `wrong words ${index}`, address, deviceCookie),
      )

    const deviceOf = (email: string, address: string) =>
      Effect.flatMap(SignIn, (signIn) =>
        Effect.map(
          signIn.withPassword(email, password, { userAgent: "test", address }),
          (entered) => entered.kind === "entered" ? entered.device : assert.fail(entered.kind),
        ))

    it.effect("lock one network out of an account without affecting others", () =>
      timed(Effect.gen(function* () {
        yield* make("owner@example.com")
        const answers = yield* guess("owner@example.com", "2001:db8:1:2::1", 12)
        assert.deepStrictEqual(answers, [
          ...Array(limits.pair).fill("WrongPassword"),
          ...Array(2).fill("TooManyAttempts"),
        ])
        assert.strictEqual(
          yield* attempt("owner@example.com", password, "2001:db8:1:2:ffff::9"),
          "TooManyAttempts",
          "another address of the same /64",
        )
        assert.strictEqual(yield* attempt("owner@example.com", password, "2001:db8:1:3::1"), "entered")
      })))

    it.effect("grant known devices their own attempts, independent of guesses elsewhere", () =>
      timed(Effect.gen(function* () {
        yield* make("known@example.com")
        const device = yield* deviceOf("known@example.com", "192.0.2.1")
        for (let network = 0; network < limits.account; network++) {
          yield* guess("known@example.com", `203.0.113.${network}`, 1)
        }
        assert.strictEqual(
          yield* attempt("known@example.com", password, "198.51.100.1"),
          "TooManyAttempts",
          "an attack from everywhere has a bound",
        )
        assert.strictEqual(yield* attempt("known@example.com", password, "198.51.100.1", device), "entered")
        assert.strictEqual(
          yield* attempt("known@example.com", password, "198.51.100.1", `${device}x`),
          "TooManyAttempts",
          "a forged cookie is none",
        )
        yield* make("other@example.com")
        const own = yield* deviceOf("other@example.com", "192.0.2.9")
        assert.strictEqual(
          yield* attempt("known@example.com", password, "198.51.100.1", own),
          "TooManyAttempts",
          "the cookie is for the account that signed in",
        )
        const answers = yield* guess("known@example.com", "198.51.100.1", limits.device + 1, device)
        assert.strictEqual(answers.at(-2), "WrongPassword")
        assert.strictEqual(answers.at(-1), "TooManyAttempts", "its attempts are limited, too")
      })))

    it.effect("forget known devices when the password is reset", () =>
      timed(Effect.gen(function* () {
        const { id } = yield* make("reset@example.com")
        const device = yield* deviceOf("reset@example.com", "192.0.2.1")
        yield* TestClock.adjust("1 minute")
        const link = yield* (yield* OneTimeLinks).create("password", id)
        yield* (yield* SignIn).withLink(link, "other unrelated words", { userAgent: "test", address: "192.0.2.1" })
        for (let network = 0; network < limits.account; network++) {
          yield* guess("reset@example.com", `203.0.113.${network}`, 1)
        }
        assert.strictEqual(
          yield* attempt("reset@example.com", "other unrelated words", "198.51.100.1", device),
          "TooManyAttempts",
        )
      })))

    it.effect("are not exhausted for everybody by simultaneous attempts from one network", () =>
      timed(Effect.gen(function* () {
        yield* make("burst@example.com")
        const answers = yield* Effect.all(
          Array.from({ length: 200 }, (_, at) => attempt("burst@example.com", `wrong ${at}`, "203.0.113.200")),
          { concurrency: "unbounded" },
        )
        assert.strictEqual(answers.filter((one) => one === "TooManyAttempts").length, 200 - limits.pair)
        assert.strictEqual(yield* attempt("burst@example.com", password, "198.51.100.1"), "entered")
      })))

    it.effect("refuse attempts beyond the limit from memory, without a query", () =>
      timed(Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* make("memory@example.com")
        yield* guess("memory@example.com", "203.0.113.44", limits.pair)
        // Whatever asks for one of these tables from now on dies.
        yield* sql`ALTER TABLE sign_in_attempts RENAME TO sign_in_attempts_away`
        yield* sql`ALTER TABLE accounts RENAME TO accounts_away`
        const answers = yield* Effect.ensuring(
          guess("memory@example.com", "203.0.113.44", 5),
          Effect.orDie(Effect.all([
            sql`ALTER TABLE sign_in_attempts_away RENAME TO sign_in_attempts`,
            sql`ALTER TABLE accounts_away RENAME TO accounts`,
          ])),
        )
        assert.deepStrictEqual(answers, Array(5).fill("TooManyAttempts"))
      })))

    it.effect("apply across several nodes", () =>
      timed(Effect.scoped(Effect.gen(function* () {
        const nodes = yield* Effect.forEach([1, 2, 3], () =>
          Effect.map(Layer.build(Layer.fresh(SignInLimits.layer)), (context) => context))
        let taken = 0
        for (let at = 0; at < 15; at++) {
          const result = yield* Effect.result(
            Effect.provideContext(
              Effect.flatMap(SignInLimits, (one) =>
                one.attempt({ email: "nodes@example.com", address: "203.0.113.77", device: undefined })),
              nodes[at % 3]!,
            ),
          )
          if (result._tag === "Success") {
            taken++
          }
        }
        assert.strictEqual(taken, limits.pair)
      }))))

    it.effect("restart after their window, and do not count a successful attempt", () =>
      timed(Effect.gen(function* () {
        yield* make("window@example.com")
        for (let round = 0; round < 12; round++) {
          assert.strictEqual(yield* attempt("window@example.com", password, "203.0.113.99"), "entered")
        }
        yield* guess("window@example.com", "203.0.113.99", limits.pair)
        assert.strictEqual(yield* attempt("window@example.com", password, "203.0.113.99"), "TooManyAttempts")
        yield* TestClock.adjust("15 minutes")
        assert.strictEqual(yield* attempt("window@example.com", password, "203.0.113.99"), "entered")
      })))
  })
})
