import { delayEdges, type MaturityCounts } from "../../src/bandit/Maturity.ts"
import { hour } from "./Samples.ts"

const steps = delayEdges.length - 1

/** The counts of single clicks at `now` (Unix milliseconds), as the database counts them. */
export const delayCounts = (
  clicks: Iterable<{ readonly sentAt: number; readonly delayHours: number }>,
  now: number,
): MaturityCounts => {
  const within = new Array<number>(steps).fill(0)
  const upTo = new Array<number>(steps).fill(0)
  for (const { delayHours, sentAt } of clicks) {
    const first = delayHours >= 0 ? delayEdges.findIndex((edge, j) => j > 0 && delayHours <= edge) - 1 : -1
    if (first < 0) continue
    for (let j = first; j < steps && (now - sentAt) / hour >= delayEdges[j + 1]!; j++) {
      upTo[j] = upTo[j]! + 1
      if (j === first) within[j] = within[j]! + 1
    }
  }
  return { within, upTo }
}
