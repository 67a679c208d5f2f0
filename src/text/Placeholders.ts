import { JsonPointer } from "effect"

// Unfilled placeholders: texts that other systems send in place of an absent value. All calls use this list. An
// unfilled id is refused, because it would merge all people into one. An unfilled value causes a warning.

/** Words for an absent value, in upper or lower case, also in quotes or brackets. */
const words: ReadonlySet<string> = new Set([
  "null",
  "undefined",
  "none",
  "nil",
  "nan",
  "n/a",
  "#n/a",
  "#null!",
  "#ref!",
  "#value!",
  "#name?",
  "\\n",
])

/** Words for an absent value only in brackets: `(not set)`, `<no value>`. */
const wordsInBrackets: ReadonlySet<string> = new Set([
  "na",
  "no value",
  "not set",
  "not provided",
  "missing",
  "empty",
  "blank",
  "unknown",
  "unset",
])

/** Words that look like a failed conversion also as a part of an id: `user-undefined`. */
const suspectParts: ReadonlySet<string> = new Set(["undefined", "null"])

interface Notation {
  readonly pattern: RegExp
  /** Restricts the notation to whole texts or to ids. Absent: anywhere in an id or a value. */
  readonly only?: "whole" | "id"
}

/** Notations of placeholders in platforms and programs. */
const notations: ReadonlyArray<Notation> = [
  // Liquid, Handlebars (two or three braces), Jinja, Braze, HubSpot, Marketo
  { pattern: /\{\{[^]*?\}\}+/ },
  { pattern: /\{%[^]*?%\}/ },
  // JavaScript, Responsys, Ruby, Power Automate, Salesforce, MailerLite
  { pattern: /[$#@]\{(?!\{)[^}]*\}|\{[!$][^}]*\}/ },
  // Marketing Cloud (%%…%%, %%=…=%%), Mailchimp, ERB and ASP, PHP, SendGrid and Optimizely
  { pattern: /%%[^%]+(?:%[^%]+)*%%/ },
  { pattern: /\*\|[^|]*(?:\|[^*|]+)*\|\*/ },
  { pattern: /<%[^]*?%>/ },
  { pattern: /<\?(?:=|php\b)[^]*?\?>/i },
  { pattern: /\[%[^]*?%\]/ },
  // Iterable, GetResponse, Constant Contact
  { pattern: /\[\[[^]*?\]\]/ },
  // Mailgun, ActiveCampaign; not percent-encoded bytes such as %C3%A9
  { pattern: /%(?![0-9a-f]{2})[a-z_][\w.:-]{2,}%/i },
  { pattern: /^%[a-z_][\w.:-]{3,}%$/i },
  // Python, Go, C, NSString
  { pattern: /%\([a-z_]\w*\)[sdr]|%![a-z]\(/i },
  { pattern: /^%[sdv@]$/, only: "whole" },
  // A JavaScript object as text
  { pattern: /\[object \w+\]/i },
  // Notations in HTML entities or percent-encoding that were not decoded
  { pattern: /(?:&#123;){2}[^]*?(?:&#125;){2}|&lt;%[^]*?%&gt;/ },
  { pattern: /%7b%7b[^]*?%7d%7d|%24%7b[^]*?%7d|\*%7c[^]*?%7c\*|%25%25[^]+?%25%25|%3c%25[^]*?%25%3e/i },
  // Single braces: Sailthru, .NET, Python. In a longer value they may be code or a formula. Numbers from 1 on and codes
  // of letters and digits may be filled in: `user:{42}` (a hash tag of Redis), `crm-{f81d4fae}`.
  { pattern: /^\{(?:[a-z_][a-z_.]*(?:\d|_\d+)?|\d?)\}$/i, only: "whole" },
  { pattern: /\{(?:[a-z_][a-z_.]*(?:\d|_\d+)?|0?)\}/i, only: "id" },
  // Emarsys, dotdigital, Keap, advertising macros, and words of a manual
  { pattern: /^(?:\$[a-z_][\w.]*\$|~[a-z_][\w.]*~|<<[\w .-]+>>)$/i, only: "whole" },
  { pattern: /^(?:@[A-Z][A-Z0-9_]*@|__[A-Z][A-Z0-9_]*__)$/, only: "whole" },
  { pattern: /^<[a-z]+(?:[_ -][a-z]+)+>$/i, only: "id" },
]

/** Combines notations into one pattern for each flag. */
const combined = (some: ReadonlyArray<Notation>): ReadonlyArray<RegExp> =>
  ["", "i"].flatMap((flags) => {
    const sources = some.flatMap(({ pattern }) => pattern.flags === flags ? [pattern.source] : [])
    return sources.length === 0 ? [] : [new RegExp(sources.join("|"), flags)]
  })
const inValues = combined(notations.filter(({ only }) => only !== "id"))
const inIds = combined(notations)

/** Longer values are not searched: they are texts for people, such as a paragraph. Unit: UTF-16 code units. */
const longestValue = 1_000
const longestWord = 40

/** Removes invisible characters, white space, quotes and brackets around a text. */
const bare = (text: string): { readonly word: string; readonly hasBrackets: boolean } => {
  const trimmed = text.replace(/\p{Default_Ignorable_Code_Point}/gu, "").trim().toLowerCase()
  const unquoted = /^(["'`])(.*)\1$/s.exec(trimmed)?.[2] ?? trimmed
  const inner = /^(?:\((.*)\)|<(.*)>|\[(.*)\]|\{(.*)\})$/s.exec(unquoted)
  return inner === null
    ? { word: unquoted, hasBrackets: false }
    : { word: (inner[1] ?? inner[2] ?? inner[3] ?? inner[4] ?? "").trim(), hasBrackets: true }
}

/**
 * Matches texts that contain a word or a possibly invisible character, or begin with a sign that may precede a word.
 */
const mayBeWord = /null|none|nil|nan|n\/a|undefined|^\W|[\u0080-\uffff]/i

const isWord = (text: string): boolean => {
  if (text.length > longestWord) return false
  const { hasBrackets, word } = bare(text)
  return words.has(word) || (hasBrackets && wordsInBrackets.has(word))
}

const partsOf = (text: string): ReadonlyArray<string> => text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean)

/** Whether a text consists of several words for absent values, such as an unfilled first and last name: `null-null`. */
const hasOnlyWords = (text: string): boolean => {
  const parts = partsOf(text)
  return parts.length > 1 && parts.every((part) => words.has(part))
}

const standsForNoValue = (text: string): boolean => mayBeWord.test(text) && (isWord(text) || hasOnlyWords(text))

const notationIn = (text: string, patterns: ReadonlyArray<RegExp>): string | undefined => {
  for (const pattern of patterns) {
    const found = pattern.exec(text)
    if (found !== null) return found[0]
  }
  return undefined
}

// Classes of characters in placeholders. One pass over a text finds all its classes.
const sign = 1
const signAtStart = 2
const wordStart = 4
const classes = new Uint8Array(128)
const mark = (characters: string, of: number) => {
  for (const character of characters) classes[character.charCodeAt(0)]! |= of
}
// Every notation contains a character of the first class, or begins with one of the second class.
mark("{%*<[&", sign)
mark("@~$_", signAtStart)
// Every word begins with a character of this class, or with an invisible character.
mark("nuNU#\\\"'`(<[{ \t\r\n", wordStart)

/** The classes of all characters of a text. Characters beyond ASCII may precede a word invisibly. */
const classesOf = (text: string): number => {
  let all = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    all |= code < 128 ? classes[code]! : wordStart
  }
  return all
}

const startOf = (text: string): number => {
  const code = text.charCodeAt(0)
  return code < 128 ? classes[code]! : wordStart
}

/** The placeholder in a value. Undefined for a text without one. */
export const placeholderIn = (text: string): string | undefined => {
  if (text.length > longestValue) return undefined
  const start = startOf(text)
  if ((start & signAtStart) !== 0 || (classesOf(text) & sign) !== 0) {
    const found = notationIn(text, inValues)
    if (found !== undefined) return found
  }
  return (start & wordStart) !== 0 && standsForNoValue(text) ? text : undefined
}

const isSuspicious = (id: string): boolean => {
  const all = classesOf(id)
  return (all & sign) !== 0 || (startOf(id) & signAtStart) !== 0 || ((all & wordStart) !== 0 && mayBeWord.test(id))
}

/** The placeholder in an id. Undefined for a text without one. */
export const placeholderInId = (id: string): string | undefined => {
  if (!isSuspicious(id)) return undefined
  const found = notationIn(id, inIds)
  if (found !== undefined) return found
  return standsForNoValue(id) ? id : undefined
}

/** The part of an id that looks like a failed conversion, such as `undefined` in `user-undefined`. */
export const suspectPartOf = (id: string): string | undefined =>
  isSuspicious(id) ? partsOf(id).find((part) => suspectParts.has(part)) : undefined

/** Quotes a text for a message, cut to 60 characters. */
const excerpt = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)

/** The reason why an id is refused, worded to follow its name. Undefined for a valid id. */
export const idFault = (id: string): string | undefined => {
  const found = placeholderInId(id)
  if (found !== undefined) {
    return `has the placeholder ${excerpt(found)}, which nobody filled in. Send the id itself`
  }
  return id !== "" && id.trim() === "" ? "must not be white space alone" : undefined
}

/** An unfilled placeholder with its place. */
export interface Placeholder {
  /** JSON pointer of the member, or the name of a parameter. */
  readonly at: string
  /** The original text. */
  readonly text: string
  /** Whether the text is a name and not a value. */
  readonly isName?: boolean
}

/** Most searched values, and most reported placeholders, of one request. */
const mostValues = 2_000
const mostNamed = 10

const pointerTo = (at: string, name: string) => `${at}/${JsonPointer.escapeToken(name.toWellFormed())}`

/** Whether a member has a placeholder at any depth. Faster than `collectPlaceholders`, which builds pointers. */
const hasPlaceholder = (value: object): boolean => {
  let left = mostValues
  const open = [value]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const isList = Array.isArray(next)
    for (const name in next) {
      if (left-- <= 0) return false
      const inner = (next as Readonly<Record<string, unknown>>)[name]
      if (!isList && placeholderIn(name) !== undefined) return true
      if (typeof inner === "string") {
        if (placeholderIn(inner) !== undefined) return true
      } else if (typeof inner === "object" && inner !== null) open.push(inner)
    }
  }
  return false
}

/** Finds the placeholders in the names and values of a member, at any depth. */
export const collectPlaceholders = (value: unknown, at: string, found: Array<Placeholder>): void => {
  if (typeof value !== "object" || value === null || !hasPlaceholder(value)) return
  let left = mostValues
  const open: Array<readonly [value: object, at: string]> = [[value, at]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [values, parent] = next
    for (const [name, inner] of Object.entries(values)) {
      if (left-- <= 0 || found.length >= mostNamed) return
      const pointer = pointerTo(parent, name)
      if (!Array.isArray(values) && placeholderIn(name) !== undefined) {
        found.push({ at: pointer, text: name, isName: true })
      }
      if (typeof inner === "string" && placeholderIn(inner) !== undefined) found.push({ at: pointer, text: inner })
      else if (typeof inner === "object" && inner !== null) open.push([inner as object, pointer])
    }
  }
}

const collectSuspect = (id: unknown, at: string, name: string, found: Array<Placeholder>): void => {
  const text = typeof id === "string" ? suspectPartOf(id) : undefined
  if (text !== undefined) found.push({ at: at + name, text })
}

/** Finds ids of a person or a message with a part that looks unfilled. Such ids are accepted with a warning. */
export const collectSuspects = (
  ids: { readonly user_id?: unknown; readonly tracking_id?: unknown; readonly email?: unknown },
  at: string,
  found: Array<Placeholder>,
): void => {
  collectSuspect(ids.user_id, at, "user_id", found)
  collectSuspect(ids.tracking_id, at, "tracking_id", found)
  collectSuspect(ids.email, at, "email", found)
}
