// Reads e-mail addresses in the forms of headers, directories and platforms: with names, comments, prefixes and
// punctuation.

/** Longest text that is read. Unit: UTF-16 code units. */
const maxText = 1_000

/** A bare address. */
const bare = /^[^\s@<>()[\]\\,;:"]+@(?:[^\s@<>()[\]\\,;:"]+|\[[0-9a-f.:]+\])$/i

/** Schemes and address types that precede an address: RFC 6068, RFC 3464, RFC 6533, and proxy addresses of Exchange. */
const prefix = /^(mailto|rfc822|utf-8|smtp)\s*[:;]\s*(?:\/\/)?/i

const entities: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#64;": "@",
  "&amp;": "&",
}

/** The plain signs for signs of word processors and of keyboards of other scripts. */
const plainSigns: Readonly<Record<string, string>> = {
  "\u201c": '"',
  "\u201d": '"',
  "\u201e": '"',
  "\u00ab": '"',
  "\u00bb": '"',
  "\uff02": '"',
  "\uff1c": "<",
  "\uff1e": ">",
  "\uff20": "@",
}

/**
 * Removes invisible characters, such as zero-width spaces, which make an address unusable. Also replaces typographic
 * signs.
 */
const withPlainSigns = (text: string): string =>
  text.replaceAll(/\p{Cf}/gu, "").replaceAll(
    /[\u201c\u201d\u201e\u00ab\u00bb\uff02\uff1c\uff1e\uff20]/g,
    (sign) => plainSigns[sign]!,
  )

/** The largest number of layers that are removed around an address. A prefix in angle brackets has two layers. */
const layersMax = 5

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Removes comments in parentheses. Comments may be nested. Parentheses in quotes are text. */
const withoutComments = (text: string): string => {
  let kept = ""
  let depth = 0
  let isQuoted = false
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!
    if (character === "\\" && (isQuoted || depth > 0)) {
      if (depth === 0) kept += text.slice(i, i + 2)
      i++
      continue
    }
    if (character === '"' && depth === 0) isQuoted = !isQuoted
    if (!isQuoted && character === "(") depth++
    if (depth === 0) kept += character
    if (!isQuoted && character === ")" && depth > 0) depth--
  }
  return kept
}

/** Quoted texts. Brackets and commas in them are text. */
const quoted = /"(?:[^"\\]|\\.)*"/g

/** The address in angle brackets behind a name. Null if the text has several addresses, undefined without brackets. */
const inBrackets = (text: string): string | null | undefined => {
  const plain = text.replace(quoted, (name) => "_".repeat(name.length))
  const open = plain.indexOf("<")
  if (open < 0) return undefined
  const close = plain.indexOf(">", open)
  const rest = close < 0 ? "" : plain.slice(close + 1)
  const isOne = close > open && plain.indexOf("<", open + 1) < 0 && /^[\s,;.>]*$/.test(rest)
  // A comma may be part of a name, but not follow an address.
  const isList = /@[^\s,;]+\s*[,;]/.test(plain.slice(0, open))
  return isOne && !isList ? text.slice(open + 1, close) : null
}

/** Removes one layer around an address. Returns undefined if the text has several addresses. */
const unwrapped = (text: string): string | undefined => {
  const inner = inBrackets(text)
  if (inner === null) return undefined
  let next = (inner ?? text).replace(/^[\s,;]+|[\s,;]+$/g, "")
  const scheme = prefix.exec(next)?.[1]?.toLowerCase()
  if (scheme !== undefined) next = next.replace(prefix, "")
  if (scheme === "mailto") next = decoded(next.split("?", 1)[0]!)
  // A route before an address (RFC 5321, appendix C).
  next = next.replace(/^@[^:\s]*:/, "")
  next = /^(["'])(.*)\1$/s.exec(next)?.[2] ?? next
  next = next.replace(/^"([^\s"\\@<>(),;:]+)"@/, "$1@")
  return next.replace(/[.,;\s]+$/, "")
}

/** Matches most addresses as they are, which need no further steps. */
const usual = /^[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+$/

/**
 * The address in a text such as `Ann <ann@shop.example>`, `mailto:ann@shop.example` or `rfc822;ann@shop.example`, in
 * its original spelling. Undefined if the text has no address or several addresses.
 */
export const readAddress = (text: string): string | undefined => {
  if (text.length > maxText) return undefined
  if (usual.test(text)) return text
  const trimmed = withPlainSigns(text).trim()
  let rest = withoutComments(trimmed.replace(/&(?:lt|gt|quot|#64|amp);/gi, (name) => entities[name.toLowerCase()]!))
  for (let layer = 0; layer < layersMax; layer++) {
    if (bare.test(rest) && !/^'|['.]$|^(?:mailto|smtp)%3a/i.test(rest)) return rest
    const next = unwrapped(rest)
    if (next === undefined || next === rest) return undefined
    rest = next
  }
  return bare.test(rest) ? rest : undefined
}
