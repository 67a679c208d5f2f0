import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Buffer } from "node:buffer"
import { AddressGuard } from "../../../src/settings/AddressGuard.ts"
import { Composer } from "../../../src/delivery/Composer.ts"
import { keyRecordOf, makeKey } from "../../../src/delivery/dkim/DkimKey.ts"
import { DkimSigning } from "../../../src/delivery/dkim/DkimSigning.ts"
import { verifyDkim } from "../../support/dkimVerifier.ts"
import { read } from "../../support/platformServers/MimeReader.ts"
import { startSmtp } from "../../support/platformServers/SmtpReceiver.ts"
import { opened, settingsOf } from "./openedSmtp.ts"
import { connect, connectApart, layerLoopback, layerWithoutSink, message, sendTo, server } from "./support.ts"

const login = { user: "shop", password: "pass-word-4711" }

describe("Smtp", () => {
  it.effect("sends the complete message after STARTTLS and login", () =>
    Effect.gen(function* () {
      const { connection, receiver } = yield* opened({ login }, {
        user: login.user,
        reply_to: "help@shop.example",
        unsubscribe: { url: "https://shop.example/u?t={tracking_id}&e={email}", mailto: "stop@shop.example" },
      }, { password: login.password })
      const sent = message({ email: "ada+e@example.com" })
      const { links, messageId } = yield* sendTo(connection, "accepted", sent)
      assert.deepStrictEqual([messageId, links], [`${sent.id}@shop.example`, []])
      const [mail] = receiver.mails
      assert.deepStrictEqual([mail!.from, mail!.to], ["news@shop.example", ["ada+e@example.com"]])
      const { headers, parts } = read(mail!.raw)
      assert.strictEqual(headers.get("subject"), "Hello Ada")
      assert.strictEqual(headers.get("from"), "The Shop <news@shop.example>")
      assert.strictEqual(headers.get("x-tracking-id"), sent.id)
      assert.strictEqual(headers.get("message-id"), `<${sent.id}@shop.example>`)
      assert.strictEqual(
        headers.get("list-unsubscribe"),
        `<https://shop.example/u?t=${sent.id}&e=ada%2Be%40example.com>, <mailto:stop@shop.example>`,
      )
      assert.strictEqual(headers.get("list-unsubscribe-post"), "List-Unsubscribe=One-Click")
      assert.include(parts[0]!.text, "Hello Ada")
      assert.match(parts[1]!.text, /^<div style="display:none[^>]*>Only today<\/div><p>Hello <b>Ada<\/b><\/p>/)
      assert.deepStrictEqual(receiver.arrivals.map(({ id }) => id), [sent.id])
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("sends over implicit TLS", () =>
    Effect.gen(function* () {
      const { connection, receiver } = yield* opened({ tls: true }, { tls: "tls" })
      yield* sendTo(connection, "accepted")
      assert.strictEqual(receiver.mails.length, 1)
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("sends unencrypted only to listed addresses", () =>
    Effect.gen(function* () {
      const { connection, receiver } = yield* opened({ plain: true }, { tls: "none" })
      yield* sendTo(connection, "accepted")
      assert.strictEqual(receiver.mails.length, 1)
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("sends successive messages in one session, and simultaneous ones in up to the configured number of sessions", () =>
    Effect.gen(function* () {
      const { connection, receiver } = yield* opened(
        { holdReplies: { fromMessage: 5, untilSessions: 3 } },
        { connections: 3 },
      )
      yield* Effect.forEach([1, 2, 3, 4], () => sendTo(connection, "accepted"), { discard: true })
      assert.strictEqual(receiver.sessions(), 1)
      yield* Effect.forEach(Array.from({ length: 20 }), () => sendTo(connection, "accepted"), {
        concurrency: 20,
        discard: true,
      })
      assert.strictEqual(receiver.mails.length, 24)
      assert.strictEqual(receiver.sessions(), 3)
      assert.deepStrictEqual([connection.concurrency, connection.idempotent], [3, false])
    }).pipe(Effect.provide(layerLoopback)))

  for (
    const [at, reply] of [
      ["connect", "421 4.7.0 Too many connections, try again in a moment"],
      ["connect", "421 Service not available"],
      ["login", "432 4.3.2 Concurrent connections limit exceeded"],
      ["sender", "421 4.7.0 Too many concurrent SMTP connections"],
    ] as const
  ) {
    it.effect(`uses as many sessions as the server grants, if it answers "${reply}" to others`, () =>
      Effect.gen(function* () {
        let most = 2
        const { connection, receiver } = yield* opened({ login, limit: { at, reply, most: () => most } }, {
          user: login.user,
        }, { password: login.password })
        const outcomesOf = (atOnce: number) =>
          Effect.forEach(Array.from({ length: atOnce }), () => connection.send(message()), { concurrency: atOnce })
        assert.strictEqual(connection.granted!(), 20)
        const first = yield* outcomesOf(20)
        // Refused sessions are no failures: their messages stay in the queue.
        const tags = new Set(first.map(({ _tag }) => _tag))
        assert.deepStrictEqual([...tags].sort(), ["accepted", "yielded"])
        assert.strictEqual(connection.granted!(), 2)
        const tried = receiver.sessions()
        assert.isAtMost(tried, 20)
        // More messages than sessions wait for their turn.
        const second = yield* outcomesOf(10)
        assert.isTrue(second.every(({ _tag }) => _tag === "accepted"))
        assert.strictEqual(receiver.sessions(), tried)
        // Every ten seconds one more may be tried.
        most = 20
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(connection.granted!(), 3)
        assert.isTrue((yield* outcomesOf(10)).every(({ _tag }) => _tag === "accepted"))
        assert.deepStrictEqual([receiver.sessions(), receiver.connections()], [tried + 1, 3])
      }).pipe(Effect.provide(layerLoopback)))
  }

  it.effect("reports the refusal of a session if no other session is open", () =>
    Effect.gen(function* () {
      const reply = "421 4.7.0 Too many connections"
      const { connection, receiver } = yield* opened({ limit: { at: "connect", reply, most: () => 0 } })
      yield* Effect.forEach(Array.from({ length: 5 }), () => sendTo(connection, "slow-down"), {
        concurrency: 5,
        discard: true,
      })
      assert.deepStrictEqual([receiver.mails.length, receiver.sessions()], [0, 5])
      assert.strictEqual(connection.granted!(), 20, "the server refuses all, which does not tell how many it grants")
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("opens a new session after 500 messages once the previous one has ended", () =>
    Effect.gen(function* () {
      const reply = "421 4.7.0 Too many connections"
      const { connection, receiver } = yield* opened({ limit: { at: "connect", reply, most: () => 1 } }, {
        connections: 1,
      })
      yield* Effect.forEach(Array.from({ length: 510 }), () => sendTo(connection, "accepted"), {
        concurrency: 5,
        discard: true,
      })
      assert.deepStrictEqual([receiver.mails.length, receiver.sessions()], [510, 2])
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("sends the waiting messages if another one is cancelled before it waits", () =>
    Effect.gen(function* () {
      const { connection, receiver } = yield* opened(
        { holdReplies: { fromMessage: 1, untilSessions: 1 } },
        { connections: 1 },
      )
      const given = new AbortController()
      given.abort()
      const sent = yield* Effect.forkChild(
        Effect.forEach(Array.from({ length: 3 }), () => sendTo(connection, "accepted"), { concurrency: 3 }),
        { startImmediately: true },
      )
      assert.strictEqual((yield* connection.send(message(), given.signal))._tag, "yielded")
      yield* Fiber.join(sent)
      assert.strictEqual(receiver.mails.length, 3)
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("continues in a new session after the server ended the previous one", () =>
    Effect.gen(function* () {
      const { connection, receiver } = yield* opened()
      yield* sendTo(connection, "accepted")
      receiver.cut()
      yield* Effect.promise(() => receiver.until(() => receiver.connections() === 0))
      yield* sendTo(connection, "accepted")
      assert.deepStrictEqual([receiver.mails.length, receiver.sessions()], [2, 2])
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("signs messages so that the received bytes verify, with any content", () =>
    Effect.gen(function* () {
      const key = yield* makeKey()
      const signer = { domain: "shop.example", selector: "s1", privateKey: key.privateKey }
      const { connection, receiver } = yield* Effect.provideService(
        opened({}, { unsubscribe: { url: "https://shop.example/u?e={email}" } }),
        DkimSigning,
        signer,
      )
      const contents = [
        { body: "<p>Hello</p>" },
        { text: ".\r\n..\r\n. dots \t \r\nand trailing spaces  \r\n\r\n\r\n" },
        { text: `${"long ".repeat(3_000)}\n${"x".repeat(5_000)}` },
        { body: `<p>Grüße 😀 ${"ä".repeat(2_000)}</p>\n.\n`, text: "Grüße  \n.\n" },
        { text: "" },
      ]
      for (const vars of contents) {
        const formats = { body: "html" } as const
        yield* sendTo(
          connection,
          "accepted",
          message({ vars: { subject: "Grüße, Ada ", body: "<br>", ...vars }, formats }),
        )
      }
      const record = keyRecordOf({ ...signer, publicKey: key.publicKey }).value
      assert.strictEqual(receiver.mails.length, contents.length)
      for (const { raw } of receiver.mails) {
        const { names, ...verified } = verifyDkim(Buffer.from(raw, "latin1"), record)
        assert.deepStrictEqual(verified, { result: "pass", domain: "shop.example", selector: "s1" })
        assert.includeMembers([...names], ["list-unsubscribe", "list-unsubscribe-post", "feedback-id", "message-id"])
      }
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("marks messages of transactional templates as automatic, and all messages for feedback loops", () =>
    Effect.gen(function* () {
      const { connection, receiver } = yield* opened({}, { sender_id: "acme-1" })
      yield* sendTo(connection, "accepted", message({ isTransactional: true }))
      yield* sendTo(connection, "accepted", message())
      const headers = receiver.mails.map(({ raw }) => read(raw).headers)
      assert.deepStrictEqual(headers.map((all) => all.get("auto-submitted")), ["auto-generated", undefined])
      assert.deepStrictEqual(headers.map((all) => all.get("feedback-id")), [
        "a:welcome:transactional:acme-1",
        "a:welcome:bulk:acme-1",
      ])
      assert.isFalse(headers[0]!.has("dkim-signature"))
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("uses the Message-ID of the delivery for each attempt, independent of the content", () =>
    Effect.gen(function* () {
      const { connection, receiver } = yield* opened({ faults: [{ at: "data" }] }, { from: "news@shöp.example" })
      const vars = {
        subject: "Hi\r\nMessage-ID: <mine@eve.example>",
        body: "Message-ID: <mine@eve.example>",
        "Message-ID": "<mine@eve.example>",
        message_id: "<mine@eve.example>",
      }
      yield* sendTo(connection, "retry", message({ vars }))
      yield* sendTo(connection, "accepted", message({ vars, attempt: 2 }))
      const ids = receiver.mails.map(({ raw }) => [...raw.split("\r\n\r\n")[0]!.match(/^Message-ID: .*$/gim) ?? []])
      const id = [`Message-ID: <${message().id}@xn--shp-tna.example>`]
      assert.deepStrictEqual(ids, [id, id])
    }).pipe(Effect.provide(layerLoopback)))

  for (
    const [at, reply, outcome, words] of [
      ["recipient", "550 5.1.1 No such user here", "refused", "No such user here"],
      ["recipient", "551 User not local", "refused", "551"],
      ["recipient", "553 5.1.3 Bad address syntax", "refused", "553"],
      ["recipient", "552 5.2.2 Over quota", "refused", "mailbox is full"],
      ["data", "552 Storage exceeded", "refused", "mailbox is full"],
      ["data", "554 5.7.1 Looks like spam", "refused", "Looks like spam"],
      ["sender", "552 5.3.4 Message too big for system", "refused", "too big"],
      ["recipient", "450 4.2.0 Greylisted", "retry", "Greylisted"],
      ["recipient", "452 4.2.2 Mailbox full", "retry", "452"],
      ["data", "451 4.3.0 Local error", "retry", "451"],
      ["sender", "421 4.3.2 Shutting down", "retry", "421"],
      ["recipient", "503 Bad sequence", "retry", "503"],
      ["sender", "421 4.7.0 Too many connections from your host", "slow-down", "Too many"],
      ["recipient", "450 4.7.1 Sending rate limit exceeded", "slow-down", "rate limit"],
      ["data", "454 Throttling failure: Maximum sending rate exceeded", "slow-down", "Throttling"],
      ["recipient", "450 4.2.1 Too many messages to this mailbox", "slow-down", "mailbox"],
      ["recipient", "421 4.3.0 Try again later", "retry", "421"],
      ["sender", "530 5.7.0 Authentication required", "broken", "Check user"],
      ["sender", "550 5.7.1 Sender not allowed", "broken", "check from"],
    ] as const
  ) {
    it.effect(`reports "${reply}" in answer to ${at} as ${outcome}`, () =>
      Effect.gen(function* () {
        const { connection, receiver } = yield* opened({ faults: [{ at, reply }] })
        const result = yield* sendTo(connection, outcome)
        assert.include(result.reason, words)
        if (result._tag === "retry") {
          assert.isFalse(result.uncertain)
          assert.strictEqual(result.deferred, at !== "sender" && /^4(?!21)/.test(reply))
        }
        const ofConnection = at === "sender" || /^(421|503)|Sending rate|Throttling/.test(reply)
        if ("scope" in result) assert.strictEqual(result.scope, ofConnection ? "connection" : "recipient")
        // The connection is as good as before.
        yield* sendTo(connection, "accepted")
        assert.strictEqual(receiver.mails.length, 1)
      }).pipe(Effect.provide(layerLoopback)))
  }

  it.effect("reports an unknown result if the connection breaks after the message", () =>
    Effect.gen(function* () {
      const { connection, receiver } = yield* opened({ faults: [undefined, { at: "data" }] })
      yield* sendTo(connection, "accepted")
      assert.deepInclude(yield* sendTo(connection, "retry"), { uncertain: true, scope: "recipient" })
      yield* sendTo(connection, "accepted")
      // Each attempt sends the same message, so a recipient's server can detect a duplicate by its id.
      const ids = receiver.mails.map(({ raw }) => read(raw).headers.get("message-id"))
      assert.deepStrictEqual([ids.length, new Set(ids).size], [3, 1])
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("reports that the message was not sent if the connection breaks before it", () =>
    Effect.gen(function* () {
      const { connection } = yield* opened({ faults: [{ at: "recipient" }] })
      assert.isFalse((yield* sendTo(connection, "retry")).uncertain)
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("sends to non-ASCII addresses only if the server announces SMTPUTF8", () =>
    Effect.gen(function* () {
      const sent = message({ email: "用户@例え.example" })
      const wide = yield* opened()
      yield* sendTo(wide.connection, "accepted", sent)
      const { connection, receiver } = yield* opened({ hidden: ["SMTPUTF8"] })
      assert.include((yield* sendTo(connection, "unfit", sent)).reason, "SMTPUTF8")
      // A domain has a name in ASCII.
      yield* sendTo(connection, "accepted", message({ email: "ada@例え.example" }))
      assert.include(read(receiver.mails[0]!.raw).headers.get("to"), "ada@xn--r8jz45g.example")
    }).pipe(Effect.provide(layerLoopback)))

  for (const reply of ["535 5.7.8 Bad credentials", "534 5.7.9 Stronger mechanism needed", "538 Encryption required"]) {
    it.effect(`stops at a login answered "${reply}" without revealing the password`, () =>
      Effect.gen(function* () {
        const { connection } = yield* opened({ loginReply: `${reply} ${login.password}` }, { user: "shop" }, {
          password: login.password,
        })
        const { reason } = yield* sendTo(connection, "broken")
        assert.include(reason, reply.slice(0, 3))
        assert.notInclude(reason, login.password)
        const test = yield* connection.test
        assert.isFalse(test.ok)
        assert.notInclude(test.detail, login.password)
      }).pipe(Effect.provide(layerLoopback)))
  }

  it.effect("retries a login that fails temporarily", () =>
    Effect.gen(function* () {
      const { connection } = yield* opened({ loginReply: "454 4.7.0 Temporary authentication failure" }, {
        user: "shop",
      }, {
        password: login.password,
      })
      yield* sendTo(connection, "retry")
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("sends nothing to a server without STARTTLS or with an untrusted certificate", () =>
    Effect.gen(function* () {
      const plain = yield* opened({ plain: true })
      assert.include((yield* sendTo(plain.connection, "broken")).reason, "encryption")
      const receiver = yield* server(() => startSmtp())
      const { ca: _, ...settings } = settingsOf(receiver.port)
      const connection = yield* connect("smtp", settings, {})
      assert.include((yield* sendTo(connection, "broken")).reason, "encryption")
      assert.strictEqual(plain.receiver.mails.length + receiver.mails.length, 0)
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("does not connect to addresses that are not allowed", () =>
    Effect.gen(function* () {
      const receiver = yield* server(() => startSmtp())
      for (const host of ["localhost", "127.0.0.1", "::1", "2130706433", "169.254.169.254"]) {
        const connection = yield* connect("smtp", settingsOf(receiver.port, { host }), {})
        assert.include((yield* sendTo(connection, "broken")).reason, "was not connected to")
      }
      assert.strictEqual(receiver.sessions(), 0)
    }).pipe(Effect.provide(Layer.mergeAll(AddressGuard.layer(), Composer.layer, layerWithoutSink))))

  it.effect("retries if the port is closed", () =>
    Effect.gen(function* () {
      const { connection, receiver } = yield* opened()
      yield* Effect.promise(() => receiver.close())
      assert.isFalse((yield* sendTo(connection, "retry")).uncertain)
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("refuses a message that cannot be sent, and sends the next", () =>
    Effect.gen(function* () {
      const { connection, receiver } = yield* opened({ size: 2_000 })
      for (
        const sent of [
          message({ email: "ada@example.com,eve@example.com" }),
          message({ email: "ada@example.com\r\nRCPT TO:<eve@example.com>" }),
          message({ vars: { body: "<p>x</p>" } }),
          message({ vars: { subject: "x" } }),
          message({ vars: { subject: "x", body: "<b>".repeat(100_000) } }),
        ]
      ) yield* sendTo(connection, "unfit", sent)
      yield* sendTo(connection, "refused", message({ vars: { subject: "x", body: "y".repeat(10_000) } }))
      yield* sendTo(connection, "accepted", message({ vars: { subject: "a\r\nBcc: eve@example.com", body: "." } }))
      assert.deepStrictEqual(receiver.mails.map(({ to }) => to), [["ada@example.com"]])
      assert.isFalse(read(receiver.mails[0]!.raw).headers.has("bcc"))
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("limits recipient domains to half of the sessions without a rate, or as its settings say", () =>
    Effect.gen(function* () {
      const limitsOf = (more: Readonly<Record<string, unknown>>) =>
        Effect.map(connect("smtp", settingsOf(25, more), {}), ({ domains }) => domains)
      assert.deepStrictEqual(yield* limitsOf({}), { share: 0.5, perSecond: undefined })
      const settings = { domain_share: 0.2, domain_rate: 10 }
      assert.deepStrictEqual(yield* limitsOf(settings), { share: 0.2, perSecond: 10 })
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("tests the credentials without sending", () =>
    Effect.gen(function* () {
      const { connection, receiver } = yield* opened({ login }, { user: login.user }, { password: login.password })
      assert.isTrue((yield* connection.test).ok)
      assert.deepStrictEqual([receiver.mails.length, receiver.sessions()], [0, 1])
      yield* Effect.promise(() => receiver.until(() => receiver.connections() === 0))
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("ends the session of a message that is interrupted", () =>
    Effect.gen(function* () {
      const { connection, receiver } = yield* opened({ faults: [{ at: "data", hang: true }] })
      const fiber = yield* Effect.forkChild(connection.send(message()))
      yield* Effect.promise(() => receiver.until(() => receiver.mails.length === 1))
      yield* Fiber.interrupt(fiber)
      yield* Effect.promise(() => receiver.until(() => receiver.connections() === 0))
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("leaves no session open when its scope closes, idle or busy", () =>
    Effect.gen(function* () {
      const receiver = yield* server(() =>
        startSmtp({
          faults: [undefined, undefined, { at: "data", hang: true }],
          holdReplies: { fromMessage: 1, untilSessions: 2 },
        })
      )
      const { close, connection } = yield* connectApart("smtp", settingsOf(receiver.port), {})
      yield* Effect.all([sendTo(connection, "accepted"), sendTo(connection, "accepted")], { concurrency: 2 })
      assert.strictEqual(receiver.connections(), 2)
      const fiber = yield* Effect.forkChild(connection.send(message()))
      yield* Effect.promise(() => receiver.until(() => receiver.mails.length === 3))
      yield* close
      const result = yield* Fiber.join(fiber)
      assert.deepStrictEqual([result._tag, "uncertain" in result && result.uncertain], ["retry", true])
      yield* Effect.promise(() => receiver.until(() => receiver.connections() === 0))
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("ends sessions that have been idle for half a minute", () =>
    Effect.gen(function* () {
      const { connection, receiver } = yield* opened()
      yield* sendTo(connection, "accepted")
      yield* TestClock.adjust("50 seconds")
      yield* Effect.promise(() => receiver.until(() => receiver.connections() === 0))
    }).pipe(Effect.provide(layerLoopback)))
})
