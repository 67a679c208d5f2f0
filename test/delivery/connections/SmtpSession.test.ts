import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { Buffer } from "node:buffer"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { lookup } from "node:dns"
import type { SmtpFault } from "../../../src/delivery/connections/SmtpReplies.ts"
import { open } from "../../../src/delivery/connections/SmtpLine.ts"
import type { SmtpSession } from "../../../src/delivery/connections/SmtpSession.ts"
import { rfcTimes, type SmtpTimes } from "../../../src/delivery/connections/SmtpTimes.ts"

const mail = (to = "ada@example.com") => ({
  from: "news@shop.example",
  to,
  bytes: Buffer.from("Subject: Hi\r\n\r\nHello\r\n"),
})

const envelope = "250 ok\r\n250 ok\r\n354 go\r\n"

/** An answer to one write of the client; `end` cuts the connection after it. */
type Answer = string | { readonly end: string }

/** A server that greets, announces these extensions, and then answers each write with the next of these texts. */
class Scripted {
  /** Without EHLO. */
  readonly heard: Array<string> = []
  readonly #server: Server
  readonly #sockets: Array<Socket> = []
  #onHeard = () => {}

  constructor(private readonly answers: Array<Answer>, extensions: string, greeting = "220 ready\r\n") {
    this.#server = createServer((socket) => {
      this.#sockets.push(socket)
      socket.on("error", () => {})
      socket.write(greeting)
      socket.on("data", (chunk) => {
        const text = String(chunk)
        if (text.startsWith("EHLO")) return void socket.write(extensions)
        this.heard.push(text)
        this.#onHeard()
        const answer = this.answers.shift()
        if (typeof answer === "string") socket.write(answer)
        else if (answer !== undefined) socket.end(answer.end)
      })
    })
  }
  async open(times: SmtpTimes = rfcTimes): Promise<Result.Result<SmtpSession, SmtpFault>> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve))
    const guard = {
      hostRefusalOf: () => undefined,
      urlRefusalOf: () => undefined,
      lookup,
      lookupListed: lookup,
    }
    return Effect.runPromise(Effect.result(open(guard, {
      host: "127.0.0.1",
      port: (this.#server.address() as AddressInfo).port,
      tls: "none",
      ca: undefined,
      auth: undefined,
      clientName: undefined,
      times,
    })))
  }
  /** Resolves once so many writes have come. */
  async hears(count: number): Promise<void> {
    while (this.heard.length < count) await new Promise<void>((resolve) => this.#onHeard = resolve)
  }
  say(text: string): void {
    for (const socket of this.#sockets) socket.write(text)
  }
  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }
}

const pipelining = "250-here\r\n250 PIPELINING\r\n"

const withServer = async (
  answers: Array<Answer>,
  use: (session: SmtpSession, server: Scripted) => Promise<void>,
  extensions = pipelining,
) => {
  const server = new Scripted(answers, extensions)
  const session = Result.getOrThrow(await server.open())
  try {
    await use(session, server)
  } finally {
    session.destroy()
    server.close()
  }
}

/** Sends a message, and returns whether its transmission began. */
const send = (
  session: SmtpSession,
  sent = mail(),
): Promise<{ readonly fault: SmtpFault | undefined; readonly began: boolean }> =>
  new Promise((resolve) => {
    let began = false
    session.send({
      mail: sent,
      begin: (go) => {
        began = true
        go()
      },
      done: (end) => resolve({ fault: typeof end === "string" ? undefined : end, began }),
    })
  })

describe("SmtpSession", () => {
  it("sends all commands in one write if the server announces PIPELINING", () =>
    withServer([envelope, "250 taken\r\n"], async (session, server) => {
      assert.isUndefined((await send(session)).fault)
      assert.strictEqual(
        server.heard[0],
        "MAIL FROM:<news@shop.example> SIZE=22\r\nRCPT TO:<ada@example.com>\r\nDATA\r\n",
      )
      assert.strictEqual(server.heard.slice(1).join(""), "Subject: Hi\r\n\r\nHello\r\n.\r\n")
      assert.isTrue(session.isOpen)
    }, "250-here\r\n250-SIZE\r\n250 PIPELINING\r\n"))

  it("waits for each reply if the server does not announce PIPELINING", () =>
    withServer(["250-first\r\n250 ok\r\n", "250 ok\r\n", "354 go\r\n", "250 taken\r\n"], async (session, server) => {
      assert.isUndefined((await send(session)).fault)
      assert.deepStrictEqual(server.heard.slice(0, 3), [
        "MAIL FROM:<news@shop.example>\r\n",
        "RCPT TO:<ada@example.com>\r\n",
        "DATA\r\n",
      ])
    }, "250 here\r\n"))

  for (
    const [what, reply] of [
      ["an empty line before the reply", "\r\n250 taken\r\n"],
      ["a line without a code in the reply", "250-taken\r\nas 4711\r\n250 thanks\r\n"],
    ] as const
  ) {
    it(`accepts ${what} after the message as success`, () =>
      withServer([envelope, reply], async (session) => {
        assert.isUndefined((await send(session)).fault)
      }))
  }

  for (
    const [what, replies] of [
      ["and DATA with it", ["250 ok\r\n550 5.1.1 No such user\r\n503 No recipient\r\n"]],
      ["but asks for the message", ["250 ok\r\n550 5.1.1 No such user\r\n354 go\r\n", "554 no recipients\r\n"]],
    ] as const
  ) {
    it(`sends no message if the server refuses the recipient ${what}, and then sends the next`, () =>
      withServer([...replies, "250 reset\r\n", envelope, "250 taken\r\n"], async (session, server) => {
        assert.deepStrictEqual(await send(session), {
          fault: { stage: "recipient", code: 550, detail: "550 5.1.1 No such user", uncertain: false },
          began: false,
        })
        assert.isUndefined((await send(session)).fault)
        assert.deepStrictEqual([server.heard.join("").split("Subject").length, server.heard.includes("RSET\r\n")], [
          2,
          true,
        ])
      }))
  }

  it("reports the refusal of the sender instead of the errors that follow from it", () =>
    withServer(["550 5.7.1 Sender not allowed\r\n503 No sender\r\n503 No recipient\r\n", "250 reset\r\n"], async (
      session,
    ) => {
      const { fault } = await send(session)
      assert.deepStrictEqual([fault?.stage, fault?.code], ["sender", 550])
      assert.isTrue(session.isOpen)
    }))

  it("closes at reply 421 to any command", () =>
    withServer(["250 ok\r\n421 4.3.2 Shutting down\r\n"], async (session) => {
      const { fault } = await send(session)
      assert.deepStrictEqual([fault?.stage, fault?.code], ["recipient", 421])
      assert.isFalse(session.isOpen)
    }))

  it("reports whether the message can have arrived if the server closes the connection", async () => {
    await withServer([{ end: "250 ok\r\n" }], async (session) => {
      const { fault } = await send(session)
      assert.deepStrictEqual([fault?.stage, fault?.code, fault?.uncertain], ["connect", undefined, false])
    })
    await withServer([envelope, { end: "" }], async (session) => {
      const { fault } = await send(session)
      assert.deepStrictEqual([fault?.stage, fault?.code, fault?.uncertain], ["data", undefined, true])
      assert.isFalse(session.isOpen)
    })
  })

  it("reads a last reply without a line break", () =>
    withServer([envelope, { end: "451 4.3.0 Disk full" }], async (session) => {
      assert.deepInclude((await send(session)).fault, { code: 451, detail: "451 4.3.0 Disk full", uncertain: false })
    }))

  it("reports an unknown result if the final reply is neither acceptance nor refusal", () =>
    withServer([envelope, "354 go on\r\n"], async (session) => {
      assert.deepInclude((await send(session)).fault, { code: undefined, uncertain: true })
      assert.isFalse(session.isOpen)
    }))

  it("sends only the first command for a message that may not begin", () =>
    withServer([envelope], async (session, server) => {
      await new Promise<void>((resolve) => session.send({ mail: mail(), begin: () => resolve(), done: () => {} }))
      session.destroy()
      assert.strictEqual(server.heard.length, 1)
    }))

  it("refuses a message larger than the announced SIZE without sending a command", () =>
    withServer([], async (session, server) => {
      assert.deepInclude((await send(session)).fault, { cause: "size", code: undefined })
      assert.deepStrictEqual(server.heard, [])
      assert.isTrue(session.isOpen)
    }, "250-here\r\n250 SIZE 10\r\n"))

  it("requests SMTPUTF8 if an address needs it and the server supports it", () =>
    withServer([envelope, "250 taken\r\n"], async (session, server) => {
      await send(session, mail("zoë@example.com"))
      assert.match(server.heard[0]!, /^MAIL FROM:<news@shop.example> SMTPUTF8\r\nRCPT TO:<zoë@example.com>\r\n/)
    }, "250-here\r\n250-PIPELINING\r\n250 SMTPUTF8\r\n"))

  it("refuses an address that needs SMTPUTF8 if the server does not support it, without sending a command", () =>
    withServer([envelope, "250 taken\r\n"], async (session, server) => {
      assert.deepInclude((await send(session, mail("zoë@example.com"))).fault, { cause: "utf8" })
      assert.isUndefined((await send(session)).fault)
      assert.notInclude(server.heard.join(""), "zoë")
    }))

  it("closes at an unsolicited or endless reply", async () => {
    await withServer([envelope, "250 taken\r\n"], async (session, server) => {
      await send(session)
      const ended = new Promise<void>((resolve) => session.onEnd = resolve)
      server.say("421 4.4.2 Timeout\r\n")
      await ended
      assert.isFalse(session.isOpen)
    })
    await withServer(["2".repeat(70_000)], async (session) => {
      assert.include((await send(session)).fault?.detail, "exceeds maximum allowed size")
    })
  })

  it("fails to open if the greeting does not arrive in time", async () => {
    const server = new Scripted([], pipelining, "")
    const opened = await server.open({ ...rfcTimes, greeting: 50 })
    server.close()
    assert.deepInclude(Result.isFailure(opened) ? opened.failure : undefined, {
      stage: "connect",
      detail: "Greeting never received",
      uncertain: false,
    })
  })
})
