import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { rfcTimes, setupMillis } from "../../../src/delivery/connections/SmtpTimes.ts"
import { MayBegin } from "../../../src/delivery/MayBegin.ts"
import { opened } from "./openedSmtp.ts"
import { layerLoopback, message, sendTo } from "./support.ts"

describe("Smtp with a slow server", () => {
  it("allows the timeouts of RFC 5321", () => {
    const minutes = (millis: number) => millis / 60_000
    assert.deepStrictEqual(
      { ...rfcTimes, connect: undefined },
      { connect: undefined, greeting: 300_000, command: 300_000, envelope: 720_000, message: 780_000 },
    )
    assert.strictEqual(minutes(rfcTimes.envelope), 5 + 5 + 2)
    assert.strictEqual(minutes(rfcTimes.message), 3 + 10)
    assert.strictEqual(minutes(setupMillis(rfcTimes)), 15)
  })

  for (const [at, minutes] of [["connect", 4], ["recipient", 5], ["data", 10]] as const) {
    it.effect(`sends one copy if the server answers at ${at} after ${minutes} minutes`, () =>
      Effect.gen(function* () {
        let answer = () => {}
        const until = new Promise<void>((resolve) => answer = resolve)
        const { connection, receiver } = yield* opened({ slow: { at, until } })
        const fiber = yield* Effect.forkChild(sendTo(connection, "accepted"), { startImmediately: true })
        const waits = () =>
          at === "data" ? receiver.mails.length === 1 : receiver[at === "connect" ? "sessions" : "recipients"]() === 1
        yield* Effect.promise(() => receiver.until(waits))
        yield* TestClock.adjust(`${minutes} minutes`)
        answer()
        yield* Fiber.join(fiber)
        assert.deepStrictEqual([receiver.mails.length, receiver.sessions()], [1, 1])
      }).pipe(Effect.provide(layerLoopback)))
  }

  for (const [at, minutes, uncertain] of [["recipient", 12, false], ["data", 13, true]] as const) {
    it.effect(`times out ${minutes} minutes after ${at} without an answer`, () =>
      Effect.gen(function* () {
        const { connection, receiver } = yield* opened({ faults: [{ at, hang: true }] })
        const fiber = yield* Effect.forkChild(connection.send(message()))
        const waits = () => at === "data" ? receiver.mails.length === 1 : receiver.recipients() === 1
        yield* Effect.promise(() => receiver.until(waits))
        yield* TestClock.adjust(`${minutes} minutes`)
        const result = yield* Fiber.join(fiber)
        assert.deepInclude(result, { _tag: "retry", uncertain, scope: "recipient" })
        yield* Effect.promise(() => receiver.until(() => receiver.connections() === 0))
      }).pipe(Effect.provide(layerLoopback)))
  }

  it.effect("keeps the session if a message was cancelled during a slow greeting", () =>
    Effect.gen(function* () {
      let greet = () => {}
      const until = new Promise<void>((resolve) => greet = resolve)
      const { connection, receiver } = yield* opened({ slow: { at: "connect", until } }, { connections: 1 })
      const giveUp = new AbortController()
      const fiber = yield* Effect.forkChild(connection.send(message(), giveUp.signal), { startImmediately: true })
      yield* Effect.promise(() => receiver.until(() => receiver.sessions() === 1))
      giveUp.abort()
      greet()
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "yielded")
      yield* sendTo(connection, "accepted")
      assert.deepStrictEqual([receiver.mails.length, receiver.sessions()], [1, 1])
    }).pipe(Effect.provide(layerLoopback)))

  for (const [at, outcome] of [["connect", "yielded"], ["recipient", "yielded"], ["data", "accepted"]] as const) {
    it.effect(`requeues the message of a changed connection unless its content was sent: silence at ${at}`, () =>
      Effect.gen(function* () {
        let answer = () => {}
        const until = new Promise<void>((resolve) => answer = resolve)
        const { connection, receiver } = yield* opened({ slow: { at, until } })
        const fiber = yield* Effect.forkChild(connection.send(message()), { startImmediately: true })
        const seen = { connect: receiver.sessions, recipient: receiver.recipients, data: () => receiver.mails.length }
        yield* Effect.promise(() => receiver.until(() => seen[at]() === 1))
        connection.leave!()
        if (at === "data") answer()
        const result = yield* Fiber.join(fiber)
        assert.strictEqual(result._tag, outcome)
        if (result._tag === "yielded") assert.isTrue(result.keepsPlace)
        answer()
      }).pipe(Effect.provide(layerLoopback)))
  }

  it.effect("checks the message again before its content if the recipient's answer was slow", () =>
    Effect.gen(function* () {
      let answer = () => {}
      const until = new Promise<void>((resolve) => answer = resolve)
      const { connection, receiver } = yield* opened({ slow: { at: "recipient", until } })
      let isOptedOut = false
      const fiber = yield* connection.send(message()).pipe(
        Effect.provideService(MayBegin, (decide) => decide(!isOptedOut)),
        Effect.forkChild({ startImmediately: true }),
      )
      yield* Effect.promise(() => receiver.until(() => receiver.recipients() === 1))
      isOptedOut = true
      yield* TestClock.adjust("2 seconds")
      answer()
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "yielded")
      yield* Effect.promise(() => receiver.until(() => receiver.connections() === 0))
      assert.strictEqual(receiver.mails.length, 0)
    }).pipe(Effect.provide(layerLoopback)))

  for (const [at, outcome] of [["recipient", "yielded"], ["data", "retry"]] as const) {
    it.effect(`reports ${outcome} for a cancellation during the silence after ${at}`, () =>
      Effect.gen(function* () {
        const { connection, receiver } = yield* opened({ faults: [{ at, hang: true }] })
        const giveUp = new AbortController()
        const fiber = yield* Effect.forkChild(connection.send(message(), giveUp.signal))
        const waits = () => at === "data" ? receiver.mails.length === 1 : receiver.recipients() === 1
        yield* Effect.promise(() => receiver.until(waits))
        giveUp.abort()
        // The message may still arrive.
        if (at === "data") yield* TestClock.adjust("13 minutes")
        assert.strictEqual((yield* Fiber.join(fiber))._tag, outcome)
        yield* Effect.promise(() => receiver.until(() => receiver.connections() === 0))
        yield* sendTo(connection, "accepted")
      }).pipe(Effect.provide(layerLoopback)))
  }
})
