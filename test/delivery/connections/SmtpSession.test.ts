import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Buffer } from "node:buffer"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"
import { newProgress, SmtpSession, transparent } from "../../../src/delivery/connections/SmtpSession.ts"
import type { SmtpFault } from "../../../src/delivery/connections/SmtpReplies.ts"

const mail = (text = "Subject: Hi\r\n\r\nHello\r\n", to = "ada@example.com") => ({
  from: "news@shop.example",
  to,
  bytes: Buffer.from(text),
})

const features = { pipelining: true, size: false, maxSize: 0, utf8: false }

/** A server that answers each write of its client with the next of these texts; `end` cuts the connection. */
class Scripted {
  readonly heard: Array<string> = []
  #server: Server
  #sockets: Array<Socket> = []
  constructor(private readonly answers: Array<string | { readonly end: string }>) {
    this.#server = createServer((socket) => {
      this.#sockets.push(socket)
      socket.on("error", () => {})
      socket.on("data", (chunk) => {
        this.heard.push(String(chunk))
        const answer = this.answers.shift()
        if (answer === undefined) return
        if (typeof answer === "string") socket.write(answer)
        else socket.end(answer.end)
      })
    })
  }
  /** A session with it. */
  async open(change: Partial<typeof features> = {}): Promise<SmtpSession> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve))
    const socket = connect((this.#server.address() as AddressInfo).port, "127.0.0.1")
    await new Promise((resolve) => socket.once("connect", resolve))
    return new SmtpSession(socket, { ...features, ...change })
  }
  say(text: string): void {
    for (const socket of this.#sockets) socket.write(text)
  }
  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }
}

const withServer = async (
  answers: ConstructorParameters<typeof Scripted>[0],
  change: Partial<typeof features>,
  use: (session: SmtpSession, server: Scripted) => Promise<void>,
) => {
  const server = new Scripted(answers)
  const session = await server.open(change)
  try {
    await use(session, server)
  } finally {
    session.destroy()
    server.close()
  }
}

const send = (session: SmtpSession, sent = mail(), progress = newProgress()): Promise<SmtpFault | undefined> =>
  new Promise((resolve) => session.send(sent, progress, resolve))

describe("SmtpSession", () => {
  it("sends the commands in one write and the message in another where the server announces PIPELINING", () =>
    withServer(["250 ok\r\n250 ok\r\n354 go\r\n", "250 taken\r\n"], { size: true }, async (session, server) => {
      assert.isUndefined(await send(session))
      assert.deepStrictEqual(server.heard, [
        "MAIL FROM:<news@shop.example> SIZE=22\r\nRCPT TO:<ada@example.com>\r\nDATA\r\n",
        "Subject: Hi\r\n\r\nHello\r\n.\r\n",
      ])
      assert.isTrue(session.isOpen)
    }))

  it("waits for each reply where the server does not announce PIPELINING", () =>
    withServer(["250-first\r\n250 ok\r\n", "250 ok\r\n", "354 go\r\n", "250 taken\r\n"], { pipelining: false }, async (
      session,
      server,
    ) => {
      assert.isUndefined(await send(session))
      assert.deepStrictEqual(server.heard.slice(0, 3), [
        "MAIL FROM:<news@shop.example>\r\n",
        "RCPT TO:<ada@example.com>\r\n",
        "DATA\r\n",
      ])
    }))

  it("reads replies that come in pieces, and several in one piece", () =>
    withServer(["250"], {}, async (session, server) => {
      const sent = send(session)
      while (server.heard.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
      for (const piece of [" o", "k\r\n250-a\r", "\n250 b\r\n3", "54 go\r\n"]) {
        await new Promise((resolve) => setTimeout(resolve, 5))
        server.say(piece)
      }
      while (server.heard.length < 2) await new Promise((resolve) => setTimeout(resolve, 1))
      server.say("250 taken\r\n")
      assert.isUndefined(await sent)
    }))

  for (
    const [what, replies] of [
      ["and DATA with it", "250 ok\r\n550 5.1.1 No such user\r\n503 No recipient\r\n"],
      ["but asks for the message", "250 ok\r\n550 5.1.1 No such user\r\n354 go\r\n"],
    ] as const
  ) {
    it(`sends no message to a server that refuses the recipient ${what}, and then sends the next`, () =>
      withServer(
        [
          replies,
          ...(replies.includes("354") ? ["554 no recipients\r\n"] : []),
          "250 reset\r\n",
          "250 ok\r\n250 ok\r\n354 go\r\n",
          "250 taken\r\n",
        ],
        {},
        async (session, server) => {
          const progress = newProgress()
          const fault = await send(session, mail(), progress)
          assert.deepStrictEqual(fault, {
            stage: "recipient",
            code: 550,
            detail: "550 5.1.1 No such user",
            uncertain: false,
          })
          assert.isFalse(progress.began)
          assert.isUndefined(await send(session))
          assert.strictEqual(server.heard.filter((text) => text.includes("Subject")).length, 1)
          assert.strictEqual(server.heard.filter((text) => text === "RSET\r\n").length, 1)
        },
      ))
  }

  it("reports the refusal of the sender, not those that follow from it", () =>
    withServer(["550 5.7.1 Sender not allowed\r\n503 No sender\r\n503 No recipient\r\n", "250 reset\r\n"], {}, async (
      session,
    ) => {
      const fault = await send(session)
      assert.deepStrictEqual([fault?.stage, fault?.code], ["sender", 550])
      assert.isTrue(session.isOpen)
    }))

  it("ends with a reply of 421, whatever else was asked", () =>
    withServer(["250 ok\r\n421 4.3.2 Shutting down\r\n"], {}, async (session) => {
      const fault = await send(session)
      assert.deepStrictEqual([fault?.stage, fault?.code], ["recipient", 421])
      assert.isFalse(session.isOpen)
    }))

  it("knows which part of the message can have arrived when the server closes in the middle", async () => {
    await withServer([{ end: "250 ok\r\n" }], {}, async (session) => {
      const fault = await send(session)
      assert.deepStrictEqual([fault?.stage, fault?.code, fault?.uncertain], ["connect", undefined, false])
    })
    await withServer(["250 ok\r\n250 ok\r\n354 go\r\n", { end: "" }], {}, async (session) => {
      const fault = await send(session)
      assert.deepStrictEqual([fault?.stage, fault?.code, fault?.uncertain], ["data", undefined, true])
      assert.isFalse(session.isOpen)
    })
  })

  it("takes last words without a line break for a reply", () =>
    withServer(["250 ok\r\n250 ok\r\n354 go\r\n", { end: "451 4.3.0 Disk full" }], {}, async (session) => {
      assert.deepInclude(await send(session), { code: 451, detail: "451 4.3.0 Disk full", uncertain: false })
    }))

  it("sends nothing of a message that has been given up", () =>
    withServer(["250 ok\r\n250 ok\r\n354 go\r\n"], {}, async (session, server) => {
      const progress = newProgress()
      progress.isGivenUp = true
      session.send(mail(), progress, () => {})
      await new Promise((resolve) => setTimeout(resolve, 50))
      assert.deepStrictEqual([server.heard.length, progress.began], [1, false])
    }))

  it("refuses a message that is larger than the server takes, without asking", () =>
    withServer([], { maxSize: 10 }, async (session, server) => {
      assert.deepInclude(await send(session), { cause: "size", code: undefined })
      assert.deepStrictEqual(server.heard, [])
      assert.isTrue(session.isOpen)
    }))

  it("asks for SMTPUTF8 where an address needs it and the server has it", () =>
    withServer(["250 ok\r\n250 ok\r\n354 go\r\n", "250 taken\r\n"], { utf8: true }, async (session, server) => {
      await send(session, mail(undefined, "zoë@example.com"))
      assert.match(server.heard[0]!, /^MAIL FROM:<news@shop.example> SMTPUTF8\r\nRCPT TO:<zoë@example.com>\r\n/)
    }))

  it("ends when a server speaks unasked, and at a reply without end", async () => {
    await withServer(["250 ok\r\n250 ok\r\n354 go\r\n", "250 taken\r\n"], {}, async (session, server) => {
      await send(session)
      server.say("421 4.4.2 Timeout\r\n")
      while (session.isOpen) await new Promise((resolve) => setTimeout(resolve, 1))
    })
    await withServer(["2".repeat(70_000)], {}, async (session) => {
      assert.include((await send(session))?.detail, "longer than 65,536 characters")
    })
  })
})

describe("transparent", () => {
  it("reads back as it was written, whatever the lines begin with", () =>
    fc.assert(
      fc.property(fc.array(fc.constantFrom(".", "..", "a", "\r\n", "x."), { minLength: 1, maxLength: 30 }), (parts) => {
        const text = parts.join("")
        const sent = transparent(Buffer.from(text)).toString()
        assert.isTrue(sent.endsWith("\r\n.\r\n") || sent === ".\r\n")
        const received = sent.slice(0, -3).split("\r\n").map((line) => line.startsWith(".") ? line.slice(1) : line)
        assert.strictEqual(received.join("\r\n"), text.endsWith("\r\n") ? text : `${text}\r\n`)
        assert.notInclude(sent.slice(0, -5), "\r\n.\r\n")
      }),
    ))
})
