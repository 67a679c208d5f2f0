import type { Run } from "./Run.ts"

const special = /[&<>"']/
const entity = (code: number): string | undefined => {
  switch (code) {
    case 38:
      return "&amp;"
    case 60:
      return "&lt;"
    case 62:
      return "&gt;"
    case 34:
      return "&#34;"
    case 39:
      return "&#39;"
  }
  return undefined
}

/** Makes text safe between tags and inside quoted attributes of HTML: `&`, `<`, `>`, `"` and `'` become entities. */
export const escape = (text: string, run: Run): string => {
  run.scan(text.length)
  const first = text.search(special)
  if (first === -1) return text
  let made = text.slice(0, first)
  let copied = first
  for (let index = first; index < text.length; index++) {
    const replacement = entity(text.charCodeAt(index))
    if (replacement === undefined) continue
    made += text.slice(copied, index) + replacement
    copied = index + 1
  }
  made += text.slice(copied)
  // An entity costs about a step, and adds three or four characters.
  run.spend(Math.floor((made.length - text.length) / 4))
  return made
}

/** Percent-encodes every character that is not unreserved (RFC 3986). Replaces lone surrogates by U+FFFD. */
export const percentEncoded = (text: string): string =>
  encodeURIComponent(text.toWellFormed())
    .replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

/** Percent-encodes a value for a parameter of a URL. Parts that are percent-encoded already stay as they are. */
export const escapeParameter = (text: string, run: Run): string => {
  run.scan(text.length, 1)
  return text.split(/(%[0-9A-Fa-f]{2})/).map((part, at) => at % 2 === 1 ? part : percentEncoded(part)).join("")
}

const hexadecimal = (sign: string) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`

/** Makes JSON safe inside a script: no character of it can end the script or start a comment. */
export const escapeJson = (json: string, run: Run): string => {
  run.scan(json.length, 2)
  return json.replace(/[<>&\u2028\u2029]/g, hexadecimal)
}

/** Makes text safe between the quotes of JSON or JavaScript inside a script. */
export const escapeScript = (text: string, run: Run): string => {
  run.scan(text.length, 1)
  return JSON.stringify(text).slice(1, -1).replace(/[<>&'\u2028\u2029]/g, hexadecimal)
}

const entities: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&#34;": '"', "&#39;": "'" }

/** Reverses `escape`. */
export const unescape = (text: string, run: Run): string => {
  run.scan(text.length, 2)
  return text.replace(/&(?:amp|lt|gt|#34|#39);/g, (found) => entities[found]!)
}
