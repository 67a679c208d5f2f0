import { randomUUID } from "node:crypto"

/** Largest difference between a decision's time and the time in its generated tracking id. Unit: milliseconds. */
export const toleranceMillis = 3_600_000

let madeLast = NaN
let beginning = ""

/**
 * A tracking id of our own: a UUID of version 7 with the time of its decision, so that ids of one time are neighbours in
 * the index, and the time tells which partition a decision is in.
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

/** When a tracking id was made, if it may be one of our own; Unix milliseconds. */
export const madeAt = (trackingId: string): number | undefined => {
  const match = form.exec(trackingId)
  return match === null ? undefined : Number.parseInt(match[1]! + match[2]!, 16)
}
