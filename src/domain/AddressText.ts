// Reads e-mail addresses as headers, directories and platforms write them: with names, comments, prefixes and punctuation.

/** Longest text that is read. Unit: UTF-16 code units. */
const maxText = 1_000

/** An address with nothing around it. */
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

/** Signs of word processors and keyboards of other scripts, by the plain sign that they replace. */
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

/** Text without signs that are not seen, such as zero-width spaces: no message is sent to an address that has one. */
const withPlainSigns = (text: string): string =>
  text.replaceAll(/\p{Cf}/gu, "").replaceAll(
    /[\u201c\u201d\u201e\u00ab\u00bb\uff02\uff1c\uff1e\uff20]/g,
    (sign) => plainSigns[sign]!,
  )

/** Most layers around an address that are removed, such as a prefix in angle brackets. */
const layersMax = 5

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The text without comments in parentheses. Comments may be nested. Parentheses in quotes are text. */
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

/** Quoted texts, in which brackets and commas mean nothing. */
const quoted = /"(?:[^"\\]|\\.)*"/g

/** The address in angle brackets behind a name; null if there is more than one address; undefined without brackets. */
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

/** A text without one layer around its address; undefined if it has more than one address. */
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

/**
 * The one address in a text such as `Ann <ann@shop.example>`, `mailto:ann@shop.example` or `rfc822;ann@shop.example`, as it is
 * spelled there; undefined if the text has none, or more than one.
 */
export const readAddress = (text: string): string | undefined => {
  if (text.length > maxText) return undefined
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
