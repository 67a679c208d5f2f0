import type { Buffer } from "node:buffer"

/** The head of a plain request. */
export interface PlainHead {
  readonly method: "GET" | "POST"
  readonly url: string
  /** By lowercase name. */
  readonly headers: Readonly<Record<string, string>>
  /** Where the body begins, and where the request ends. Unit: bytes. */
  readonly bodyAt: number
  readonly end: number
}

/** Longest head. Node's server takes longer ones. Unit: bytes. */
const maxHeadBytes = 8 * 1024

/** Longest body. Unit: bytes. */
const maxBodyBytes = 16 * 1024

/**
 * A head in the form that clients of an API send: no characters but visible ASCII and single spaces where they belong, nothing
 * folded, and line ends as the standard has them. A line is matched in one way only, so the time is linear.
 */
const form = /^(?:GET|POST) \/[\w./~%?=&+,:@-]* HTTP\/1\.1\r\n(?:[A-Za-z][A-Za-z0-9-]*: [!-~](?:[ -~]*[!-~])?\r\n)+$/

/** Headers that change where a request ends or what happens to its connection, or that Node's server has as a list. */
const special = new Set([
  "expect",
  "proxy-connection",
  "set-cookie",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
])

/** The length of the body; undefined where it is not what the method has, or too long. */
const lengthOf = (method: string, length: string | undefined): number | undefined => {
  if (method === "GET") return length === undefined ? 0 : undefined
  return length !== undefined && /^(?:0|[1-9]\d{0,4})$/.test(length) && Number(length) <= maxBodyBytes
    ? Number(length)
    : undefined
}

const carriageReturn = 0x0d
const lineFeed = 0x0a

/** Where the lines of the head end, before the empty one. */
const linesEndIn = (bytes: Buffer): number | undefined => {
  const most = Math.min(bytes.length, maxHeadBytes) - 3
  for (let at = 0; at < most; at++) {
    if (
      bytes[at] === carriageReturn && bytes[at + 1] === lineFeed && bytes[at + 2] === carriageReturn &&
      bytes[at + 3] === lineFeed
    ) return at + 2
  }
  return undefined
}

/**
 * Reads the head at the beginning of `bytes`. Undefined for one that is incomplete, faulty or unusual in any way, which Node's
 * server has to read: it takes a strict subset of the requests that Node's server takes, and reads them the same.
 */
export const plainHeadOf = (bytes: Buffer): PlainHead | undefined => {
  const last = linesEndIn(bytes)
  if (last === undefined) return undefined
  const head = bytes.toString("latin1", 0, last)
  if (!form.test(head)) return undefined
  const method = head.startsWith("GET ") ? "GET" : "POST"
  const urlAt = method.length + 1
  let at = head.indexOf("\r\n") + 2
  const url = head.slice(urlAt, at - " HTTP/1.1\r\n".length)
  const headers: Record<string, string> = {}
  while (at < last) {
    const colon = head.indexOf(":", at)
    const next = head.indexOf("\r\n", colon) + 2
    const name = head.slice(at, colon).toLowerCase()
    // Also refuses names that every object has.
    if (headers[name] !== undefined || special.has(name)) return undefined
    headers[name] = head.slice(colon + 2, next - 2)
    at = next
  }
  const { connection, host } = headers
  const length = lengthOf(method, headers["content-length"])
  if (host === undefined || length === undefined) return undefined
  if (connection !== undefined && connection.toLowerCase() !== "keep-alive") return undefined
  return { method, url, headers, bodyAt: last + 2, end: last + 2 + length }
}
