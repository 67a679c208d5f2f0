import { TextDiff } from "effect"

/** A line of one of two texts, or of both. */
export interface DiffLine {
  readonly kind: "same" | "removed" | "added"
  readonly text: string
}

/**
 * Up to this many changed lines, the difference is the shortest. Beyond, it is found faster and may be longer than
 * needed.
 */
const maxEdits = 200

const kinds = { Equal: "same", Delete: "removed", Insert: "added" } as const

/**
 * Returns the lines of both texts: lines to remove from `before`, lines to add, and equal lines. At each place, removed
 * lines come first.
 */
export const lineDiff = (before: string, after: string): ReadonlyArray<DiffLine> =>
  TextDiff.diff(before.split("\n"), after.split("\n"), { maxEdits }).flatMap(({ _tag, items }) =>
    items.map((text) => ({ kind: kinds[_tag], text }))
  )
