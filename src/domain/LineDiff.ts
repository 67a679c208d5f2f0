/** A line of one of two texts, or of both. */
export interface DiffLine {
  readonly kind: "same" | "removed" | "added"
  readonly text: string
}

/** Pairs of lines that are compared at most; beyond, what differs is shown as replaced in one piece. */
const maxPairs = 1_000_000

/** The longest common subsequence, backwards from the ends: how many lines can be kept from `i` and `j` on. */
const keepable = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): Uint32Array => {
  const width = b.length + 1
  const table = new Uint32Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] = a[i] === b[j]
        ? table[(i + 1) * width + j + 1]! + 1
        : Math.max(table[(i + 1) * width + j]!, table[i * width + j + 1]!)
    }
  }
  return table
}

/** The fewest lines to remove from `before` and to add so that it becomes `after`, removed ones first. */
export const lineDiff = (before: string, after: string): ReadonlyArray<DiffLine> => {
  const [a, b] = [before.split("\n"), after.split("\n")]
  const of = (kind: DiffLine["kind"], lines: ReadonlyArray<string>) => lines.map((text): DiffLine => ({ kind, text }))
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end++
  const [old, young] = [a.slice(start, a.length - end), b.slice(start, b.length - end)]
  const middle: Array<DiffLine> = []
  if (old.length * young.length > maxPairs) middle.push(...of("removed", old), ...of("added", young))
  else {
    const table = keepable(old, young)
    const width = young.length + 1
    let [i, j] = [0, 0]
    while (i < old.length || j < young.length) {
      if (i < old.length && j < young.length && old[i] === young[j]) {
        middle.push({ kind: "same", text: old[i]! })
        i++
        j++
      } else if (j >= young.length || (i < old.length && table[(i + 1) * width + j]! >= table[i * width + j + 1]!)) {
        middle.push({ kind: "removed", text: old[i++]! })
      } else middle.push({ kind: "added", text: young[j++]! })
    }
  }
  return [...of("same", a.slice(0, start)), ...middle, ...of("same", a.slice(a.length - end))]
}
