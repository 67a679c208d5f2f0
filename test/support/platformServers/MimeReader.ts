import { Buffer } from "node:buffer"

/** A decoded part of a message. */
export interface Part {
  readonly headers: ReadonlyMap<string, string>
  /** Names of the headers in lowercase, in order, including repetitions. */
  readonly names: ReadonlyArray<string>
  readonly text: string
  readonly parts: ReadonlyArray<Part>
}

const bytesOf = (latin1: string) => Buffer.from(latin1, "latin1")

const quotedPrintable = (text: string) =>
  text.replace(/=\r\n/g, "").replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)))

/** Decodes the encoded words of a header (RFC 2047). Joins adjacent words before it decodes their bytes as text. */
export const decodeHeader = (value: string): string => {
  const joined = value.replace(/(\?=)\s+(=\?)/g, "$1$2")
  return joined.replace(/(?:=\?utf-8\?[qb]\?[^?]*\?=)+/gi, (words) => {
    const bytes = [...words.matchAll(/=\?utf-8\?([qb])\?([^?]*)\?=/gi)].map(([, kind, text]) =>
      kind!.toLowerCase() === "b" ? Buffer.from(text!, "base64") : bytesOf(quotedPrintable(text!.replaceAll("_", " ")))
    )
    return Buffer.concat(bytes).toString("utf8")
  })
}

/** Reads a message (RFC 5322, 2045, 2047). `raw` contains its bytes as Latin-1. */
export const read = (raw: string): Part => {
  const end = raw.indexOf("\r\n\r\n")
  const head = (end < 0 ? raw : raw.slice(0, end)).replace(/\r\n(?=[ \t])/g, "")
  const body = end < 0 ? "" : raw.slice(end + 4)
  const headers = new Map<string, string>()
  const names: Array<string> = []
  for (const line of head.split("\r\n")) {
    const colon = line.indexOf(":")
    const name = line.slice(0, colon).toLowerCase()
    names.push(name)
    headers.set(name, decodeHeader(line.slice(colon + 1).trim()))
  }
  const type = headers.get("content-type") ?? "text/plain"
  const boundary = /boundary="?([^";]+)"?/.exec(type)?.[1]
  if (type.startsWith("multipart/") && boundary !== undefined) {
    const sections = `\r\n${body}`.split(`\r\n--${boundary}`).slice(1, -1)
    return { headers, names, text: "", parts: sections.map((section) => read(section.slice(2))) }
  }
  const encoding = headers.get("content-transfer-encoding")?.toLowerCase()
  const bytes = encoding === "base64"
    ? Buffer.from(body, "base64")
    : encoding === "quoted-printable"
    ? bytesOf(quotedPrintable(body))
    : bytesOf(body)
  return { headers, names, text: bytes.toString("utf8"), parts: [] }
}
