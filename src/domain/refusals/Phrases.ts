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

/** Returns every text that a phrase with alternatives (`{user|mailbox} unknown`) stands for. */
export const alternatives = (phrase: string): ReadonlyArray<string> => {
  const [, before, options, after] = /^([^{}]*)\{([^{}]*)\}(.*)$/s.exec(phrase) ?? []
  if (options === undefined) return [phrase]
  return alternatives(after!).flatMap((end) => options.split("|").map((option) => before + option + end))
}

interface Entry<A> {
  readonly of: A
  /** The parts between the gaps, folded. */
  readonly parts: ReadonlyArray<string>
}

/** A part of a text, from its first character to the one after its last. */
type Span = readonly [at: number, end: number]

/**
 * Returns the places of the parts of a phrase that begins at `at`, with short gaps between them. Undefined: the text there
 * does not contain all parts.
 */
const spansOf = (text: string, parts: ReadonlyArray<string>, at: number): ReadonlyArray<Span> | undefined => {
  let end = at + parts[0]!.length
  const spans: Array<Span> = [[at, end]]
  for (const part of parts.slice(1)) {
    const found = text.slice(end, end + maxGap + part.length).indexOf(part)
    if (found < 0) return undefined
    spans.push([end + found, end + found + part.length])
    end += found + part.length
  }
  return spans
}

/** A phrase found in a text. */
export interface FoundPhrase<A> {
  readonly of: A
  /** The places of its parts, without the gaps between them. */
  readonly spans: ReadonlyArray<Span>
}

/**
 * Finds many phrases in a text at once, in a time that is linear in the length of the text. A phrase begins at the
 * beginning of a word, and may end within one.
 */
export class Phrases<A> {
  readonly #byStart = new Map<string, Array<Entry<A>>>()

  add(phrase: string, of: A): void {
    for (const one of alternatives(phrase)) this.#addOne(one, of)
  }

  #addOne(phrase: string, of: A): void {
    const parts = folded(phrase).split("*").map((part) => part.trim())
    const first = parts[0]!
    const start = first.slice(0, startLengths.find((length) => length <= first.length))
    const entries = this.#byStart.get(start)
    if (entries === undefined) this.#byStart.set(start, [{ of, parts }])
    else entries.push({ of, parts })
  }

  /** Returns the phrases in a folded text, each once, with the first of its alternatives. */
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
      const spans = spansOf(text, parts, at)
      if (spans !== undefined) found.set(of, { of, spans })
    }
  }
}
