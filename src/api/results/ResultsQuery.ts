import { Result } from "effect"
import { textOf } from "../../domain/Attributes.ts"
import type { Fault } from "../../domain/Errors.ts"
import type { ResultsOptions } from "../../results/ResultsOptions.ts"

/**
 * Reads a number of days from `minimum` to 365, in the notation of JSON. Undefined if the parameter is absent or
 * faulty.
 */
const daysOf = (query: URLSearchParams, name: string, minimum: number, faults: Array<Fault>): number | undefined => {
  const text = query.get(name)
  if (text === null) return undefined
  const days = /^\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN
  if (days >= minimum && days <= 365) return days
  faults.push({ pointer: name, detail: `must be a number of days from ${minimum} to 365` })
  return undefined
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Reads the attribute values of `segment`, which may be repeated. */
const segmentOf = (query: URLSearchParams, faults: Array<Fault>): ReadonlyMap<string, string> => {
  const values = new Map<string, string>()
  for (const text of query.getAll("segment")) {
    for (const part of text === "" ? [] : text.split("&")) {
      const at = part.indexOf("=")
      const name = at < 1 ? undefined : decoded(part.slice(0, at))
      const value = at < 1 ? undefined : decoded(part.slice(at + 1))
      if (name === undefined || value === undefined) {
        const shown = JSON.stringify(part.slice(0, 100))
        faults.push({
          pointer: "segment",
          detail: `must be pairs such as plan=pro, percent-encoded; ${shown} is not such a pair`,
        })
      } else if (values.has(name)) {
        faults.push({ pointer: "segment", detail: `names ${JSON.stringify(name.slice(0, 100))} more than once` })
      } else {
        values.set(name, textOf(value))
      }
    }
  }
  return values
}

/** Maximum number of faults in a response. */
const maxFaults = 100

/** Decodes the query of results, or lists every fault. */
export const resultsQuery = (query: URLSearchParams): Result.Result<ResultsOptions, ReadonlyArray<Fault>> => {
  const faults: Array<Fault> = []
  const options = {
    lookbackDays: daysOf(query, "lookback_days", 1, faults),
    offsetDays: daysOf(query, "offset_days", 0, faults),
    segment: segmentOf(query, faults),
  }
  return faults.length === 0 ? Result.succeed(options) : Result.fail(faults.slice(0, maxFaults))
}
