import { Buffer } from "node:buffer"
import { inflateSync } from "node:zlib"
import { maxName, nameOf } from "../domain/EventKeys.ts"
import * as Json from "../json/Json.ts"

// Finds a parameter in a link as it arrives in an event: with escaped `&`, in the fragment of a single-page
// application, or inside the links of mail gateways and click trackers. No list of gateways is needed, because they
// enclose a link in few ways: percent-encoded, in base64, in JSON, or as Proofpoint and Avanan do.

/**
 * Maximum length of an encoded parameter. A UTF-16 code unit of a name has up to three bytes in UTF-8, and each byte is
 * encoded as three characters, such as `%F0`.
 */
const maxEncoded = maxName * 9

/** Maximum length of a URL that is searched for enclosed links. Unit: characters. */
const maxOuter = 8_000

/** Maximum number of enclosed texts that are searched, of all levels. */
const maxEnclosed = 40

/** Maximum nesting: a gateway around a gateway around a tracker, with JSON or base64 in one of them. */
const maxDepth = 6

/** Maximum passes over `&amp;amp;`, which each remove one `amp;`. */
const maxUnescapes = 3

const references: Readonly<Record<string, string>> = {
  amp: "&",
  colon: ":",
  equals: "=",
  num: "#",
  quest: "?",
  sol: "/",
}

/** Resolves the references that HTML has for the delimiters of a URL. A reference needs its semicolon. */
const unescapeHtml = (text: string): string => {
  let unescaped = text
  for (let pass = 0; pass < maxUnescapes && /&(?:#|[a-z]{2,6};)/i.test(unescaped); pass++) {
    unescaped = unescaped.replace(
      /&(?:#(\d{2,3})|#x([0-9a-f]{2})|(amp|colon|equals|num|quest|sol));/gi,
      (_, decimal: string | undefined, hex: string | undefined, name: string) =>
        decimal !== undefined
          ? String.fromCharCode(Number(decimal))
          : hex !== undefined
          ? String.fromCharCode(Number.parseInt(hex, 16))
          : references[name.toLowerCase()]!,
    )
  }
  return unescaped
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Decodes each run of escapes that is valid UTF-8, because long links are cut within an escape. */
const decodedRuns = (text: string): string => text.replace(/(?:%[0-9a-f]{2})+/gi, decoded)

/** Returns the text between the last `start` and the `end` after it. */
const between = (text: string, start: string, end: string): readonly [inner: string, rest: string] | undefined => {
  const from = text.lastIndexOf(start) + start.length
  if (from < start.length) return undefined
  const to = text.indexOf(end, from)
  return to < 0 ? undefined : [text.slice(from, to), text.slice(to + end.length)]
}

/** Proofpoint's signs for the number of replaced characters, from 2. */
const runLengths = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/**
 * Returns the link in a link of Proofpoint, version 3: `/v3/__LINK__;BASE64!!…`. In LINK, `*` replaces a character of
 * the decoded base64, and `**B` replaces as many as `runLengths` says. Undefined for other links.
 */
const proofpointLink = (text: string): string | undefined => {
  const found = between(text, "/v3/__", "__;")
  if (found === undefined) return undefined
  const [link, rest] = found
  const replaced = [...Buffer.from(/^[\w-]*/.exec(rest)![0], "base64url").toString()]
  let next = 0
  return link.replace(/\*(?:\*(.))?/g, (_, sign: string | undefined) => {
    const start = next
    next += sign === undefined ? 1 : Math.max(0, runLengths.indexOf(sign)) + 2
    return replaced.slice(start, next).join("")
  })
}

/** Returns the link in a link of Avanan, `/v2/___LINK___.…`. Undefined for other links. */
const avananLink = (text: string): string | undefined => between(text, "/___", "___.")?.[0]

/** Decodes base64, and the deflated text that some trackers have in it. */
const textOfBase64 = (text: string): string => {
  const bytes = Buffer.from(text, "base64")
  if (!text.startsWith("eJ")) return bytes.toString()
  try {
    return inflateSync(bytes, { maxOutputLength: maxOuter }).toString()
  } catch {
    return ""
  }
}

/** Base64 of `http`, of `{"`, and of the start of a deflated text. */
const base64 = /(?:aHR0c|ey[AJ]|eJ[wxyz])[\w+/-]{10,}/g

/** Escapes of characters that delimit the parts of a URL. */
const escapedDelimiter = /%(?:25)*(?:2[36f]|3[abdf])/i

/** Returns the strings of parsed JSON, two levels of objects or arrays deep. */
const stringsOf = (value: unknown, depth = 2): ReadonlyArray<string> =>
  typeof value === "string"
    ? [value]
    : typeof value === "object" && value !== null && depth > 0
    ? Object.values(value).flatMap((member) => stringsOf(member, depth - 1))
    : []

/** Returns the texts that a link, or a text in it, encloses. */
const enclosedIn = (text: string): ReadonlyArray<string> => {
  if (text.startsWith("{")) {
    try {
      return stringsOf(Json.parse(text))
    } catch {
      return []
    }
  }
  const end = text.search(/[?#]/)
  // A query may contain `/` as a part of a value, in a path it ends an enclosed link.
  const components = end < 0
    ? text.split(/[/;]/)
    : [...text.slice(0, end).split(/[/;]/), ...text.slice(end + 1).split(/[?&#;]/)]
  return components.flatMap((component) => {
    const value = component.replace(/^[\w.~-]{1,40}=(?!=?$)/, "")
    // Proofpoint, version 2.
    if (/^https?-3A__/i.test(value)) return [decodedRuns(value.replaceAll("-", "%").replaceAll("_", "/"))]
    const isEscaped = escapedDelimiter.test(value)
    const text = isEscaped ? decodedRuns(value) : value
    return isEscaped && text.search(base64) !== 0 ? [text] : (text.match(base64) ?? []).map(textOfBase64)
  })
}

/** Whether a parameter may begin at this place. `\u0026` is a `&` that was escaped for JSON twice. */
const precedes = (text: string, at: number): boolean =>
  at === 0 || "?&#!;".includes(text[at - 1]!) || text.endsWith("\\u0026", at)

/** The end of a value. `?` and `;` end it only before another parameter, which some programs append with them. */
const endOfValue = /[&#]|\\u0026|[?;](?=[\w.-]{1,40}=)/

/** Returns the first valid value of a parameter that is not enclosed in another link. */
const valueIn = (text: string, parameter: string): string | undefined => {
  for (let at = text.indexOf(parameter); at >= 0; at = text.indexOf(parameter, at + 1)) {
    if (!precedes(text, at)) continue
    const rest = text.slice(at + parameter.length, at + parameter.length + maxEncoded + 1)
    const end = rest.search(endOfValue)
    const encoded = end < 0 ? rest : rest.slice(0, end)
    const value = encoded.length > maxEncoded ? undefined : nameOf(decoded(encoded))
    if (value !== undefined) return value
  }
  return undefined
}

/** Matches where base64 of `http`, of an object of JSON, or of deflated text may start. */
const base64Start = /aHR0c|ey[AJ]|eJ[wxyz]/

/**
 * Returns the first value of a URL's parameter that is valid as a name, 1 to 200 characters, percent-decoded once (`+`
 * is not decoded), or undecoded if decoding fails. `name` must match exactly. The parameter may be in the query or in
 * the fragment, after an escaped `&`, and in an enclosed link: see above. The outermost parameter wins. In a URL of
 * more than 8,000 characters, reads only parameters that are not enclosed.
 */
export const parameterOf = (url: unknown, name: string): string | undefined => {
  if (typeof url !== "string") return undefined
  const parameter = `${name}=`
  // Only base64 changes letters and digits. Most links without the parameter end here.
  const hint = /^[a-z0-9]*/i.exec(name)![0]
  const mayHold = (text: string) => text.includes(hint) || base64Start.test(text)
  if (!mayHold(url)) return undefined
  if (url.length > maxOuter) return valueIn(url, parameter)
  let enclosed = 0
  const search = (text: string, depth: number): string | undefined => {
    if (!mayHold(text)) return undefined
    const unescaped = unescapeHtml(text)
    const link = proofpointLink(unescaped) ?? avananLink(unescaped) ?? unescaped
    const value = valueIn(link.replace(/%5f/gi, "_"), parameter)
    if (value !== undefined || depth === maxDepth) return value
    for (const inner of enclosedIn(link)) {
      if (++enclosed > maxEnclosed) return undefined
      const found = search(inner, depth + 1)
      if (found !== undefined) return found
    }
    return undefined
  }
  const text = url.trim()
  return search(text.startsWith("<") && text.endsWith(">") ? text.slice(1, -1) : text, 0)
}

/** Returns the parameter `tracking_id` of a URL: see `parameterOf`. */
export const trackingIdOf = (url: unknown): string | undefined => parameterOf(url, "tracking_id")
