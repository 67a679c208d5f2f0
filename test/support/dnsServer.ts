import { Buffer } from "node:buffer"
import { createSocket } from "node:dgram"
import type { AddressInfo } from "node:net"

/** The response for a name: TXT records, or a failure of the name server. */
export type DnsEntry = ReadonlyArray<string> | "server-failure" | "silent"

/** A real name server on loopback, for TXT records. */
export interface DnsServer {
  /** The address in the form of `DNS_SERVERS`. */
  readonly address: string
  /**
   * Responses by lowercase name. A name without an entry does not exist, and a name with an empty list has no TXT
   * records. The empty name is the root of DNS. Without an entry for the root, the server behaves as if it could not
   * reach the rest of DNS.
   */
  readonly entries: Map<string, DnsEntry>
  /** Requested names, in order. */
  readonly asked: ReadonlyArray<string>
  readonly close: () => Promise<void>
}

const NS = 2
const TXT = 16
const noSuchName = 3
const serverFailure = 2

/** Reads the name and type of the question after the header of 12 bytes, and the position after the question. */
const questionOf = (query: Buffer): { readonly name: string; readonly type: number; readonly end: number } => {
  const labels: Array<string> = []
  let at = 12
  while (query[at] !== 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + query[at]!))
    at += query[at]! + 1
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** Returns a record for the name of the question. */
const recordOf = (type: number, data: Buffer): Buffer => {
  const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, 0])
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

/** Returns a TXT record, with its value in strings of at most 255 bytes. */
const txtOf = (value: string): Buffer => {
  const bytes = Buffer.from(value)
  const strings: Array<Buffer> = []
  for (let at = 0; at < bytes.length; at += 255) {
    const part = bytes.subarray(at, at + 255)
    strings.push(Buffer.from([part.length]), part)
  }
  return recordOf(TXT, Buffer.concat(strings))
}

/** The name server of the root: `a.`. */
const rootServer = recordOf(NS, Buffer.from([1, 0x61, 0]))

const responseTo = (query: Buffer, entry: DnsEntry | undefined): Buffer => {
  const { end, name, type } = questionOf(query)
  const isOfRoot = name === "" && type === NS
  const records = typeof entry !== "object" ? [] : isOfRoot ? [rootServer] : entry.map(txtOf)
  const header = Buffer.alloc(12)
  query.copy(header, 0, 0, 2)
  header.writeUInt16BE(0x8180 | (entry === undefined ? noSuchName : entry === "server-failure" ? serverFailure : 0), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(records.length, 6)
  return Buffer.concat([header, query.subarray(12, end), ...records])
}

/** Starts a name server with these entries. */
export const startDns = (entries: Readonly<Record<string, DnsEntry>> = {}): Promise<DnsServer> =>
  new Promise((resolve) => {
    const socket = createSocket("udp4")
    const known = new Map<string, DnsEntry>([["", []], ...Object.entries(entries)])
    const asked: Array<string> = []
    socket.on("message", (query, { address, port }) => {
      const { name } = questionOf(query)
      asked.push(name)
      const entry = known.get(name)
      if (entry !== "silent") socket.send(responseTo(query, entry), port, address)
    })
    socket.bind(0, "127.0.0.1", () => {
      const { port } = socket.address() as AddressInfo
      resolve({
        address: `127.0.0.1:${port}`,
        entries: known,
        asked,
        close: () => new Promise((done) => socket.close(() => done())),
      })
    })
  })
