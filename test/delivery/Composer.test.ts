import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { Buffer } from "node:buffer"
import { Composer } from "../../src/delivery/Composer.ts"
import type { Email } from "../../src/text/Email.ts"
import { read } from "../support/platformServers/MimeReader.ts"

const emailWith = (change: Partial<Email>): Email => ({
  from: { email: "news@shop.example", name: "The Shop" },
  to: "ada@example.com",
  subject: "Hello",
  html: "<p>Hello</p>",
  text: undefined,
  messageId: "d1@shop.example",
  trackingId: "d1",
  date: new Date(1_778_486_400_000),
  ...change,
})

const opened = Effect.map(Effect.flatMap(Composer, ({ forConnection }) => forConnection), ({ compose }) => compose)
const subjectOf = (bytes: Uint8Array) => read(Buffer.from(bytes).toString("latin1")).headers.get("subject")

describe("Composer", () => {
  it.live("composes small and large e-mails concurrently and returns each result to its caller", () =>
    Effect.gen(function* () {
      const compose = yield* opened
      const emails = Array.from(
        { length: 30 },
        (_, n) => emailWith({ subject: `Number ${n}`, html: `<p>${"x".repeat(n % 10 === 0 ? 200_000 : 10)}</p>` }),
      )
      const mails = yield* Effect.forEach(emails, compose, { concurrency: "unbounded" })
      assert.deepStrictEqual(
        mails.map(({ bytes }) => subjectOf(bytes)),
        emails.map(({ subject }) => subject),
      )
      assert.deepInclude(mails[0], { from: "news@shop.example", to: "ada@example.com" })
    }).pipe(Effect.provide(Composer.layerWith({ deadline: "30 seconds", largeDeadline: "30 seconds" }))))

  it.live("reports the reason of an e-mail that cannot be composed", () =>
    Effect.gen(function* () {
      const compose = yield* opened
      const { final, reason } = yield* Effect.flip(compose(emailWith({ html: "<div>".repeat(180_000) })))
      assert.isTrue(final)
      assert.match(reason, /^The message has HTML elements nested more than 500 deep.* add a `text` variable$/)
    }).pipe(Effect.provide(Composer.layer)))

  it.live("reports a temporary failure if the composing process cannot start", () =>
    Effect.gen(function* () {
      const compose = yield* opened
      const { final, reason } = yield* Effect.flip(compose(emailWith({})))
      assert.isFalse(final)
      assert.match(reason, /process that composes e-mails did not start/)
    }).pipe(Effect.provide(Composer.layerWith({ program: new URL("./none.process.ts", import.meta.url) }))))
})

describe("Composer with e-mails that its process does not survive", () => {
  const program = new URL("./stuckCompose.process.ts", import.meta.url)
  const layer = Composer.layerWith({ program, deadline: "500 millis", largeDeadline: "1 second" })

  for (
    const [what, change, expected] of [
      [
        "takes too long",
        { subject: "hang" },
        "The message takes longer than 1s to compose. Simplify its HTML, or add a `text` variable so that none is made " +
        "from the HTML",
      ],
      [
        "takes too long, with a text",
        { subject: "hang", text: "x" },
        "takes longer than 1s to compose. Simplify its HTML",
      ],
      ["takes too long, as text", { subject: "hang", html: undefined, text: "x" }, "compose. Shorten its text"],
      ["needs too much memory", { subject: "exit" }, "The message needs too much memory to compose. Simplify its HTML"],
      ["fails unexpectedly", { subject: "throw" }, "The message cannot be composed: no luck"],
    ] as ReadonlyArray<readonly [string, Partial<Email>, string]>
  ) {
    it.live(`fails an e-mail that ${what}, and composes the next`, () =>
      Effect.gen(function* () {
        const compose = yield* opened
        const { final, reason } = yield* Effect.flip(compose(emailWith(change)))
        assert.isTrue(final)
        assert.include(reason, expected)
        assert.strictEqual(subjectOf((yield* compose(emailWith({ subject: "Next" }))).bytes), "Next")
      }).pipe(Effect.provide(layer)))
  }

  it.live("composes the other e-mails of a group if one fails or is interrupted", () =>
    Effect.gen(function* () {
      const compose = yield* opened
      const exits = yield* Effect.forEach(
        ["a", "b", "throw", "c", "exit", "d"],
        (subject) => Effect.exit(compose(emailWith({ subject }))),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual(
        exits.map((exit) => Exit.isSuccess(exit) ? subjectOf(exit.value.bytes) : "failed"),
        ["a", "b", "failed", "c", "failed", "d"],
      )
      // The first message has a turn of its own. All others share the second turn.
      const fibers = yield* Effect.forEach(
        ["first", "hang", "e", "f"],
        (subject) => Effect.forkChild(compose(emailWith({ subject })), { startImmediately: true }),
      )
      yield* Fiber.join(fibers[0]!)
      yield* Fiber.interrupt(fibers[1]!)
      for (const [at, subject] of [[2, "e"], [3, "f"]] as const) {
        assert.strictEqual(subjectOf((yield* Fiber.join(fibers[at]!)).bytes), subject)
      }
    }).pipe(Effect.provide(layer)))

  it.live("alternates between connections, so that stuck e-mails of one do not block another", () =>
    Effect.gen(function* () {
      const [hostile, other] = [yield* opened, yield* opened]
      let ended = 0
      const stuck = Array.from({ length: 5 }, (_, n) => emailWith({ subject: `hang ${n}` }))
      const fiber = yield* Effect.forkChild(
        Effect.forEach(stuck, (email) => Effect.ensuring(Effect.flip(hostile(email)), Effect.sync(() => ended++)), {
          concurrency: "unbounded",
        }),
        { startImmediately: true },
      )
      assert.strictEqual(subjectOf((yield* other(emailWith({ subject: "Other" }))).bytes), "Other")
      assert.strictEqual(ended, 0, "it waited for the first deadline of the first one at most")
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(subjectOf((yield* hostile(emailWith({ subject: "Next" }))).bytes), "Next")
    }).pipe(Effect.provide(Composer.layerWith({ program, deadline: "1 second", largeDeadline: "1 hour" }))))
})
