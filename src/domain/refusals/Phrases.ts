import { folded } from "./FoldedText.ts"

/** Longest gap that `*` of a phrase stands for. Unit: characters. */
const maxGap = 60

/**
 * Lengths of the beginnings by which phrases are found, the longest first. The last one is the shortest length of a
 * phrase.
 */
const startLengths = [10, 6, 3] as const

/** Whether a folded text has a Latin letter or a digit at `at`. */
const isWordAt = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at)
  return (code >= 97 && code <= 122) || (code >= 48 && code <= 57)
}

interface Entry<A> {
  readonly of: A
  /** The parts between the gaps, folded. */
  readonly parts: ReadonlyArray<string>
}

/**
 * Returns the end of a phrase that begins at `at`, with short gaps between its parts. Undefined: the text there does
 * not contain all parts.
 */
const endOf = (text: string, parts: ReadonlyArray<string>, at: number): number | undefined => {
  let end = at + parts[0]!.length
  for (const part of parts.slice(1)) {
    const found = text.slice(end, end + maxGap + part.length).indexOf(part)
    if (found < 0) return undefined
    end += found + part.length
  }
  return end
}

/** A phrase found in a text. */
export interface FoundPhrase<A> {
  readonly of: A
  readonly at: number
  readonly end: number
}

/**
 * Finds many phrases in a text at once, in a time that is linear in the length of the text. A phrase begins at the
 * beginning of a word, and may end within one.
 */
export class Phrases<A> {
  readonly #byStart = new Map<string, Array<Entry<A>>>()

  add(phrase: string, of: A): void {
    const parts = folded(phrase).split("*").map((part) => part.trim())
    const first = parts[0]!
    const start = first.slice(0, startLengths.find((length) => length <= first.length))
    const entries = this.#byStart.get(start)
    if (entries === undefined) this.#byStart.set(start, [{ of, parts }])
    else entries.push({ of, parts })
  }

  /** Returns the phrases in a folded text, each once. */
  in(text: string): ReadonlyArray<FoundPhrase<A>> {
    const found = new Map<A, FoundPhrase<A>>()
    for (let at = 0; at < text.length; at++) {
      if (isWordAt(text, at) && isWordAt(text, at - 1)) continue
      for (const length of startLengths) this.#findAt(text, at, length, found)
    }
    return [...found.values()]
  }

  #findAt(text: string, at: number, length: number, found: Map<A, FoundPhrase<A>>): void {
    for (const { of, parts } of this.#byStart.get(text.slice(at, at + length)) ?? []) {
      if (found.has(of) || !text.startsWith(parts[0]!, at)) continue
      const end = endOf(text, parts, at)
      if (end !== undefined) found.set(of, { of, at, end })
    }
  }
}
