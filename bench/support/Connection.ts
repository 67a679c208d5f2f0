/** One response. `body` is empty unless the caller requested it. */
export interface Answer {
  readonly status: string
  readonly body: string
}

const decoder = new TextDecoder("latin1")
const encoder = new TextEncoder()

/** Returns the bytes of a POST request. */
export const postMessage = (
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
): Uint8Array<ArrayBuffer> => {
  const bytes = encoder.encode(body)
  const head = `POST ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${bytes.length}\r\n` +
    Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("") + "\r\n"
  const start = encoder.encode(head)
  const message = new Uint8Array(start.length + bytes.length)
  message.set(start)
  message.set(bytes, start.length)
  return message
}

/**
 * A keep-alive connection at a low cost for load generators. Supports one request at a time, and responses with a
 * Content-Length.
 */
export class Connection {
  readonly #connection: Deno.TcpConn
  readonly #buffer = new Uint8Array(256 * 1024)

  private constructor(connection: Deno.TcpConn) {
    this.#connection = connection
  }

  static async open(url: URL): Promise<Connection> {
    const connection = await Deno.connect({ hostname: url.hostname, port: Number(url.port) })
    connection.setNoDelay(true)
    return new Connection(connection)
  }

  async send(message: Uint8Array<ArrayBuffer>, withBody = false): Promise<Answer> {
    const buffer = this.#buffer
    for (let sent = 0; sent < message.length;) sent += await this.#connection.write(message.subarray(sent))
    let filled = 0
    let expected = Infinity
    let headersEnd = -1
    let status = ""
    while (filled < expected) {
      const read = await this.#connection.read(buffer.subarray(filled))
      if (read === null) throw new Error("The server closed the connection")
      filled += read
      if (expected === Infinity) {
        const text = decoder.decode(buffer.subarray(0, filled))
        headersEnd = text.indexOf("\r\n\r\n")
        if (headersEnd === -1) continue
        const length = /content-length: (\d+)/i.exec(text.slice(0, headersEnd))
        expected = headersEnd + 4 + Number(length?.[1] ?? 0)
        status = text.slice(9, 12)
      }
    }
    return { status, body: withBody ? decoder.decode(buffer.subarray(headersEnd + 4, filled)) : "" }
  }

  close(): void {
    this.#connection.close()
  }
}
