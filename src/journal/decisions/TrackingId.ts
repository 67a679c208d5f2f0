import { randomUUID } from "node:crypto"

/** Maximum difference between a decision's time and the time in its generated tracking id. Unit: milliseconds. */
export const toleranceMillis = 3_600_000

let madeLast = NaN
let beginning = ""

/**
 * Generates a tracking id: a UUID of version 7 with the time of its decision. So ids of one time are neighbors in the
 * index, and the time determines the partition of the decision.
 */
export const makeTrackingId = (nowMillis: number): string => {
  if (nowMillis !== madeLast) {
    const time = Math.max(0, nowMillis).toString(16).padStart(12, "0")
    beginning = `${time.slice(0, 8)}-${time.slice(8)}-7`
    madeLast = nowMillis
  }
  return beginning + randomUUID().slice(15)
}

const form = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/**
 * Returns the time in a tracking id that this service may have generated, or undefined if the id has another form.
 * Unit: Unix milliseconds. A caller's own id may have this form too.
 */
export const madeAt = (trackingId: string): number | undefined => {
  const match = form.exec(trackingId)
  return match === null ? undefined : Number.parseInt(match[1]! + match[2]!, 16)
}
