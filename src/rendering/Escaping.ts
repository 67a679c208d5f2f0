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

const entities: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&#34;": '"', "&#39;": "'" }

/** Reverses `escape`. */
export const unescape = (text: string, run: Run): string => {
  run.scan(text.length, 2)
  return text.replace(/&(?:amp|lt|gt|#34|#39);/g, (found) => entities[found]!)
}
