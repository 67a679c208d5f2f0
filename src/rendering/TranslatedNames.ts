import type { SourceFinding } from "./SourceFinding.ts"

const output = /\{\{-?\s*(?<name>[\p{L}_][\p{L}\p{M}\p{N}_-]*)/gu
const word = /[\p{L}_][\p{L}\p{M}\p{N}_-]*/gu
const assigned = /\{%-?\s*(?:assign|capture|for|tablerow|increment|decrement)\s+(?<name>[\p{L}_][\p{L}\p{M}\p{N}_-]*)/gu

const namesOf = (source: string, pattern: RegExp): ReadonlySet<string> =>
  new Set([...source.matchAll(pattern)].map(({ groups }) => groups!["name"]!))

const wordsOf = (source: string): ReadonlySet<string> => new Set(source.match(word))

/**
 * Compares the names that a translation and the text in the default locale insert, because translators also translate
 * names. Returns names that occur only in the translation, and names that it lacks. Reads no Liquid without `{{`.
 */
export const translatedNames = (source: string, translation: string): ReadonlyArray<SourceFinding> => {
  const [known, own] = [wordsOf(source), namesOf(translation, assigned)]
  const added = [...translation.matchAll(output)].flatMap(({ groups, index }) => {
    const name = groups!["name"]!
    if (known.has(name) || own.has(name)) return []
    return [{
      begin: index,
      message: `inserts "${name}", which is not in the text in the default locale: correct the name, or send the field`,
    }]
  })
  const [kept, local] = [wordsOf(translation), namesOf(source, assigned)]
  const lost = [...namesOf(source, output)].filter((name) => !kept.has(name) && !local.has(name))
  return [
    ...added,
    ...lost.map((name) => ({ begin: 0, message: `does not insert "${name}" as the text in the default locale does` })),
  ]
}
