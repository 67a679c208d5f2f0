import { anyName } from "../domain/ConversionEvents.ts"
import { known, lastSegment } from "./Reading.ts"

/** Maximum edit distance (letters added, removed, replaced, or two swapped) of a suggested name. */
const maxDistance = 2

/** Maximum length of a name that is compared. Unit: characters. */
const maxCompared = 40

/** Maximum number of declared names that are compared. */
const maxDeclared = 200

/**
 * Returns the edit distance of two short texts, where swapped neighbors count as one; `maxDistance + 1` for greater
 * distances.
 */
const distance = (a: string, b: string): number => {
  const beyond = maxDistance + 1
  if (Math.abs(a.length - b.length) > maxDistance) return beyond
  let before: Array<number> = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    let least = i
    for (let j = 1; j <= b.length; j++) {
      let cost = Math.min(row[j - 1]! + 1, last[j]! + 1, last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, before[j - 2]! + 1)
      row.push(cost)
      least = Math.min(least, cost)
    }
    if (least > maxDistance) return beyond
    before = last
    last = row
  }
  return last[b.length]!
}

/** Returns the most similar name to a misspelled lowercase name, if any. Of equally similar names, the first. */
export const suggestionFor = (name: string, declared: Iterable<string>): string | undefined => {
  if (name.length > maxCompared) return undefined
  let nearest: string | undefined
  let least = Math.min(maxDistance, Math.ceil(name.length / 2) - 1) + 1
  const compare = (candidate: string) => {
    const found = distance(name, candidate)
    if (found >= least) return
    least = found
    nearest = candidate
  }
  for (const candidate of known.keys()) compare(candidate)
  let left = maxDeclared
  for (const candidate of declared) if (candidate !== anyName && left-- > 0) compare(candidate)
  return nearest
}

/** Returns why an event with an unknown name is refused, with a suggestion. */
export const unknownNameReason = (stated: string, declared: ReadonlySet<string>): string => {
  const suggestion = suggestionFor(lastSegment(stated.trim().toLowerCase()), declared) ??
    suggestionFor(stated.trim().toLowerCase(), declared)
  const unknown = `${JSON.stringify(stated)} is no event known here`
  const declare = "conversion_events of the organization or of a template, or in the settings of the source"
  return suggestion === undefined
    ? `${unknown}. To count it as a conversion, declare its name in ${declare}`
    : `${unknown}: did you mean ${suggestion}? Otherwise declare its name in ${declare}`
}
