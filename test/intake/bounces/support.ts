import { Buffer } from "node:buffer"
import { connect, type Socket } from "node:net"
import { makeWatch } from "../../support/platformServers/Watch.ts"

/** A session with the listener for bounces, by hand. */
export interface Session {
  /** Sends a line, and answers the reply: its last line. */
  readonly say: (line: string) => Promise<string>
  /** Sends bytes without waiting. */
  readonly write: (bytes: string | Uint8Array) => void
  /** The next reply. */
  readonly reply: () => Promise<string>
  /** Resolves when the server has closed the connection. */
  readonly closed: Promise<void>
  readonly socket: Socket
  readonly quit: () => Promise<void>
}

/** Connects and reads the greeting; the greeting may be a refusal. */
export const session = async (port: number): Promise<Session & { readonly greeting: string }> => {
  const socket = connect(port, "127.0.0.1")
  const { changed, until } = makeWatch()
  const replies: Array<string> = []
  let text = ""
  let isClosed = false
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1")
    const lines = text.split("\r\n")
    text = lines.pop()!
    replies.push(...lines.filter((line) => /^\d{3} /.test(line)))
    changed()
  })
  socket.on("error", () => {})
  socket.on("close", () => {
    isClosed = true
    changed()
  })
  const reply = async () => {
    await until(() => replies.length > 0 || isClosed)
    return replies.shift() ?? "closed"
  }
  const say = (line: string) => {
    socket.write(`${line}\r\n`)
    return reply()
  }
  const greeting = await reply()
  return {
    greeting,
    say,
    reply,
    socket,
    write: (bytes) => void socket.write(bytes),
    closed: until(() => isClosed),
    quit: async () => {
      await say("QUIT")
      socket.end()
      await until(() => isClosed)
    },
  }
}

/** Sends a mail in a session of its own, and answers the reply that decided: to the recipient, or to the mail. */
export const sendMail = async (port: number, to: string, text: string, from = ""): Promise<string> => {
  const { quit, reply, say, write } = await session(port)
  await say("EHLO mx.mailbox.example")
  await say(`MAIL FROM:<${from}>`)
  const admitted = await say(`RCPT TO:<${to}>`)
  if (!admitted.startsWith("250")) {
    await quit()
    return admitted
  }
  await say("DATA")
  write(`${text.replace(/^\./gm, "..")}${text.endsWith("\r\n") ? "" : "\r\n"}.\r\n`)
  const answer = await reply()
  await quit()
  return answer
}
