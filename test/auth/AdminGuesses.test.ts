import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { AdminGuesses } from "../../src/auth/AdminGuesses.ts"
import { AttemptWindows } from "../../src/auth/AttemptWindows.ts"
import { networkOf } from "../../src/text/Addresses.ts"
import { adminToken, startInProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"

describe("networks for counting attempts", () => {
  it("are an IPv4 address, and the /64 of an IPv6 address", () => {
    assert.strictEqual(networkOf("203.0.113.9"), "203.0.113.9")
    assert.strictEqual(networkOf("::ffff:203.0.113.9"), "203.0.113.9")
    assert.strictEqual(networkOf("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64")
    assert.strictEqual(networkOf("[2001:DB8:1:2::1]"), "2001:db8:1:2::/64")
    assert.notStrictEqual(networkOf("2001:db8:1:3::1"), networkOf("2001:db8:1:2::1"))
    assert.strictEqual(networkOf("unknown"), "unknown")
    assert.strictEqual(networkOf("x".repeat(5000)).length, 100)
  })
})

describe("windows of attempts", () => {
  it("count by subject, end with their time, and keep a limited number of subjects", () => {
    const windows = new AttemptWindows(1000, 3)
    assert.strictEqual(windows.add("a", 1, 0), 1)
    assert.strictEqual(windows.add("a", 1, 999), 2)
    assert.strictEqual(windows.remainingMillis("a", 400), 600)
    assert.strictEqual(windows.attempts("a", 1000), 0, "the window is over")
    for (const subject of ["b", "c", "d", "e"]) windows.add(subject, 1, 2000)
    assert.strictEqual(windows.attempts("b", 2000), 0, "the oldest is forgotten")
    assert.strictEqual(windows.attempts("e", 2000), 1)
    assert.strictEqual(windows.add("e", -5, 2000), 0, "never below none")
    const window = windows.current("c", 2000)!
    windows.raise(window, 7, 1500, 2000)
    windows.raise(window, 3, 1500, 2000)
    assert.strictEqual(windows.attempts("c", 2000), 7, "the count of the store is never lowered")
    assert.strictEqual(windows.remainingMillis("c", 2000), 500)
    windows.raise(windows.current("d", 2000)!, 9, 0, 2000)
    assert.strictEqual(windows.attempts("d", 2000), 1, "a window that was over in the store")
    assert.strictEqual(windows.attempts("e", 0), 0, "a clock that was set back prolongs nothing")
  })

  it("stay cleared if an earlier count arrives late from the database", () => {
    const windows = new AttemptWindows(1000, 3)
    windows.add("a", 4, 0)
    const window = windows.current("a", 0)!
    windows.forget("a")
    windows.raise(window, 4, 0, 1)
    assert.strictEqual(windows.attempts("a", 1), 0)
    windows.add("a", 1, 2)
    windows.raise(window, 5, 0, 3)
    assert.strictEqual(windows.attempts("a", 3), 1)
  })
})

describe("guesses at the admin token", () => {
  const limits = { perNetwork: 3, total: 5, windowMillis: 60_000 }

  it("are limited per network without affecting other networks", () => {
    const guesses = new AdminGuesses(limits)
    for (let guess = 0; guess < 3; guess++) {
      assert.isUndefined(guesses.waitSeconds("a", guess))
      guesses.countWrong("a", guess)
    }
    assert.strictEqual(guesses.waitSeconds("a", 1000), 59)
    assert.isUndefined(guesses.waitSeconds("b", 1000))
    assert.isUndefined(guesses.waitSeconds("a", 60_000), "the window is over")
  })

  it("are limited in total without locking out networks that have not guessed wrong", () => {
    const guesses = new AdminGuesses(limits)
    for (const network of ["a", "b", "c", "d", "e"]) assert.isUndefined(guesses.countWrong(network, 0))
    for (const network of ["a", "e"]) assert.strictEqual(guesses.waitSeconds(network, 0), 60, network)
    assert.isUndefined(guesses.waitSeconds("f", 0))
    assert.strictEqual(guesses.countWrong("f", 0), 60, "its first wrong guess is one too many")
    assert.isUndefined(guesses.waitSeconds("operator", 0), "the right token is never kept out by strangers elsewhere")
  })

  it.live("are none of several tokens that ADMIN_TOKEN lists", () =>
    Effect.scoped(Effect.gen(function* () {
      const old = "o".repeat(32)
      const service = yield* startInProcess(temporaryEnvironment, { ADMIN_TOKEN: `${adminToken}, ${old}` })
      yield* Effect.promise(async () => {
        const statusOf = async (token: string) =>
          (await service.request("/console/api/organizations", { headers: { authorization: `Bearer ${token}` } }))
            .status
        const tokens = [adminToken, old, `${adminToken}, ${old}`, old.slice(1)]
        const statuses = await Promise.all(tokens.map(statusOf))
        assert.deepStrictEqual(statuses, [200, 200, 401, 401])
      })
    })))

  it.live("are answered 429 with Retry-After, by the client's address behind a trusted proxy", () =>
    Effect.scoped(Effect.gen(function* () {
      const service = yield* startInProcess(temporaryEnvironment, { TRUSTED_PROXIES: "127.0.0.0/8" })
      yield* Effect.promise(async () => {
        const refused = async (reason: string) => {
          const metrics = await (await service.request("/metrics")).text()
          return Number(new RegExp(`^parlance_refused_total\\{reason="${reason}"\\} (\\d+)$`, "m").exec(metrics)?.[1])
        }
        // Refusals are counted by process, and other tests share this one.
        const [wrongBefore, limitedBefore] = [await refused("bad_admin_token"), await refused("admin_token_limit")]
        const ask = (address: string, token: string) =>
          service.request("/console/api/organizations", {
            headers: { authorization: `Bearer ${token}`, "x-forwarded-for": address },
          })
        const statuses: Array<number> = []
        for (let guess = 0; guess < 40; guess++) {
          statuses.push((await ask(`2001:db8::${guess}`, `wrong-${guess}`)).status)
        }
        assert.deepStrictEqual(statuses, [...Array(30).fill(401), ...Array(10).fill(429)])
        const limited = await ask("2001:db8::ffff", adminToken)
        assert.strictEqual(limited.status, 429, "the right token is not compared either: it could have been guessed")
        const wait = Number(limited.headers.get("retry-after"))
        assert.isTrue(wait >= 1 && wait <= 60, String(wait))
        const problem = await limited.json()
        assert.strictEqual(problem.type, "/problems/too-many-attempts")
        assert.include(problem.detail, "Too many wrong admin tokens")
        assert.strictEqual((await ask("198.51.100.1", adminToken)).status, 200)
        assert.strictEqual(await refused("bad_admin_token") - wrongBefore, 30)
        assert.strictEqual(await refused("admin_token_limit") - limitedBefore, 11)
      })
    })))
})
