import { Metric } from "effect"

/** Requests that were answered, by status. */
const requests = Metric.counter("parlance_http_requests_total", { incremental: true })

const counts = new Map<number, typeof requests>()

/** The counter of a status. Kept, since putting attributes to a metric costs more than counting. */
export const countOf = (status: number) => {
  const known = counts.get(status)
  if (known !== undefined) return known
  const made = Metric.withAttributes(requests, { status: String(status) }) as typeof requests
  counts.set(status, made)
  return made
}
