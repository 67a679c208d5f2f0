import { Buffer } from "node:buffer"
import { connect, type Socket } from "node:net"
import { gzipSync } from "node:zlib"

// Sends the requests of requests.jsonl byte for byte over a socket, and reads the parts of the answers that are
// compared.

/** A part of a request. Texts are UTF-8, except for texts of a head, whose characters are bytes. */
export type Part =
  | string
  | { readonly repeat: string; readonly times: number }
  | { readonly base64: string }
  | { readonly gzip: Part | ReadonlyArray<Part> }

/** One request. `$name` in it is replaced by a value of the service under test, such as `$key`. */
export interface Message {
  /** The lines of the head without their ends. If `isRaw`: bytes that are sent unchanged. */
  readonly head: ReadonlyArray<string | ReadonlyArray<Part>>
  /** Sent after the head, with a Content-Length unless the head has one or a Transfer-Encoding. */
  readonly body?: Part | ReadonlyArray<Part>
  readonly isRaw?: boolean
  /** The body is sent in chunks of this many bytes, with a Transfer-Encoding. */
  readonly chunkBytes?: number
  /** The body follows once the server has asked for it with 100. */
  readonly waits?: boolean
}

/** The parts of an answer that are compared. */
export interface Seen {
  readonly status: number
  readonly contentType?: string
  /** The `type` of a problem. */
  readonly problem?: string
  /** Names of the members of a JSON answer, sorted; of a list the members of its first element. */
  readonly members?: ReadonlyArray<string>
  /** Where the faults of a problem are. */
  readonly pointers?: ReadonlyArray<string>
  /** Headers that callers read: their values, or `present` where these vary. */
  readonly headers?: Readonly<Record<string, string>>
}

/** One entry of `requests.jsonl`. */
export interface Entry {
  readonly name: string
  /** Sent at once over one connection. */
  readonly send: ReadonlyArray<Message>
  /**
   * Malformed so that servers may differ: a refusal with 4xx, and a closed connection, is as good as the recorded
   * answers.
   */
  readonly anyServer?: boolean
  readonly answers?: ReadonlyArray<Seen>
}

export type Names = Readonly<Record<string, string>>

const filled = (text: string, names: Names): string =>
  text.replace(/\$([a-z]+)/gi, (whole, name: string) => names[name] ?? whole)

const bytesOf = (part: Part | ReadonlyArray<Part>, names: Names, encoding: "utf8" | "latin1"): Buffer => {
  if (Array.isArray(part)) return Buffer.concat(part.map((one: Part) => bytesOf(one, names, encoding)))
  const one = part as Part
  if (typeof one === "string") return Buffer.from(filled(one, names), encoding)
  if ("repeat" in one) return Buffer.from(one.repeat.repeat(one.times), encoding)
  if ("base64" in one) return Buffer.from(one.base64, "base64")
  return gzipSync(bytesOf(one.gzip, names, encoding))
}

const chunked = (body: Buffer, size: number): Buffer => {
  const chunks: Array<Buffer> = []
  for (let at = 0; at < body.length; at += size) {
    const piece = body.subarray(at, at + size)
    chunks.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n"))
  }
  return Buffer.concat([...chunks, Buffer.from("0\r\n\r\n")])
}

/** The bytes of a message: its head, and its body. */
const encode = (message: Message, names: Names): readonly [head: Buffer, body: Buffer] => {
  const lines = message.head.map((line) => bytesOf(line, names, "latin1"))
  const plain = message.body === undefined ? Buffer.alloc(0) : bytesOf(message.body, names, "utf8")
  if (message.isRaw === true) return [Buffer.concat(lines), plain]
  const isFramed = lines.some((line) => /^(content-length|transfer-encoding)\s*:/i.test(line.toString("latin1")))
  if (message.chunkBytes !== undefined) lines.push(Buffer.from("Transfer-Encoding: chunked"))
  else if (message.body !== undefined && !isFramed) lines.push(Buffer.from(`Content-Length: ${plain.length}`))
  const head = Buffer.concat([...lines, Buffer.alloc(0)].flatMap((line) => [line, Buffer.from("\r\n")]))
  return [head, message.chunkBytes === undefined ? plain : chunked(plain, message.chunkBytes)]
}

interface Answer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

/** The body of an answer that begins at `start`, and where it ends; undefined while it is incomplete. */
const bodyAt = (bytes: Buffer, start: number, headers: ReadonlyMap<string, string>, isEmpty: boolean) => {
  if (isEmpty) return { body: Buffer.alloc(0), end: start }
  if (headers.get("transfer-encoding") !== "chunked") {
    const end = start + Number(headers.get("content-length") ?? 0)
    return end > bytes.length ? undefined : { body: bytes.subarray(start, end), end }
  }
  const pieces: Array<Buffer> = []
  for (let at = start;;) {
    const line = bytes.indexOf("\r\n", at)
    if (line === -1) return undefined
    const size = Number.parseInt(bytes.toString("latin1", at, line), 16)
    const end = line + 2 + size + 2
    if (end > bytes.length) return undefined
    if (size === 0) return { body: Buffer.concat(pieces), end }
    pieces.push(bytes.subarray(line + 2, end - 2))
    at = end
  }
}

/** Complete answers in `bytes`. `methods`: the methods of the requests, in order. Interim answers are left out. */
const answersIn = (bytes: Buffer, methods: ReadonlyArray<string>): ReadonlyArray<Answer> => {
  const answers: Array<Answer> = []
  for (let at = 0;;) {
    const end = bytes.indexOf("\r\n\r\n", at)
    if (end === -1) return answers
    const [first = "", ...lines] = bytes.toString("latin1", at, end).split("\r\n")
    const headers = new Map(lines.map((line) => {
      const [name = "", value = ""] = line.split(/:\s*(.*)/s)
      return [name.toLowerCase(), value] as const
    }))
    const status = Number(first.split(" ")[1])
    const isEmpty = status < 200 || status === 204 || status === 304 || methods[answers.length] === "HEAD"
    const found = bodyAt(bytes, end + 4, headers, isEmpty)
    if (found === undefined) return answers
    if (status >= 200) answers.push({ status, headers, body: found.body })
    at = found.end
  }
}

/** Headers that are compared: by value, or only whether they are there. */
const compared = ["allow", "www-authenticate", "cache-control", "location", "content-encoding"]
const present = ["retry-after", "parlance-warnings", "x-request-id", "etag", "ratelimit", "set-cookie"]

const membersOf = (json: unknown): ReadonlyArray<string> | undefined => {
  const one = Array.isArray(json) ? json[0] : json
  return typeof one === "object" && one !== null ? Object.keys(one).sort() : undefined
}

const jsonOf = (text: string): Record<string, unknown> | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The parts of an answer that tests compare. Values of `names` are replaced by their names. */
const see = ({ body, headers, status }: Answer, names: Names): Seen => {
  const contentType = headers.get("content-type")
  const json = contentType?.includes("json") === true ? jsonOf(body.toString("utf8")) : undefined
  const isProblem = contentType?.startsWith("application/problem+json") === true
  const members = membersOf(json)
  const errors = isProblem ? json?.["errors"] as ReadonlyArray<{ readonly pointer: string }> | undefined : undefined
  const named = (text: string) =>
    Object.entries(names).reduce((text, [name, value]) => text.replaceAll(value, `$${name}`), text)
  return {
    status,
    ...(contentType === undefined ? {} : { contentType }),
    ...(isProblem ? { problem: String(json?.["type"]) } : {}),
    ...(members === undefined ? {} : { members }),
    ...(errors === undefined ? {} : { pointers: errors.slice(0, 5).map(({ pointer }) => pointer.slice(0, 200)) }),
    headers: Object.fromEntries([
      ...compared.flatMap((name) => headers.has(name) ? [[name, named(headers.get(name)!)]] : []),
      ...present.flatMap((name) => headers.has(name) ? [[name, "present"]] : []),
    ]),
  }
}

const last = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

const write = (socket: Socket, bytes: Buffer) => new Promise((resolve) => socket.write(bytes, resolve))

/**
 * Sends the messages of an entry over one connection. After their answers a plain request ends the connection, so that
 * an answer without a request is found too. Returns the compared parts of each answer.
 */
export const exchange = async ({ send }: Entry, url: string, names: Names): Promise<ReadonlyArray<Seen>> => {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  const methods = send.map(({ head }) => /^\S*/.exec(bytesOf(head[0]!, names, "latin1").toString("latin1"))![0])
  const messages = send.map((message) => encode(message, names))
  let received = Buffer.alloc(0)
  let isAskedToEnd = false
  const waits = send.some(({ waits }) => waits)
  await new Promise<void>((resolve) => {
    socket.on("error", () => {}).on("end", () => socket.destroy()).on("close", () => resolve())
    let isBodySent = !waits
    socket.on("data", (chunk: Uint8Array) => {
      received = Buffer.concat([received, chunk])
      if (!isBodySent && received.includes(" 100 Continue\r\n\r\n")) {
        isBodySent = true
        void write(socket, messages[0]![1])
      }
      if (isAskedToEnd || answersIn(received, methods).length < send.length) return
      isAskedToEnd = true
      void write(socket, Buffer.from(last))
    })
    socket.once("connect", () => {
      void write(socket, waits ? messages[0]![0] : Buffer.concat(messages.flat()))
    })
  })
  const answers = answersIn(received, methods)
  const isOfLast = (answer: Answer) => answer.status === 200 && answer.body.toString() === '{"status":"ok"}'
  const count = isAskedToEnd && answers.length > send.length && isOfLast(answers.at(-1)!)
    ? answers.length - 1
    : answers.length
  return answers.slice(0, count).map((answer) => see(answer, names))
}
