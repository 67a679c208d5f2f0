/** One hour, in milliseconds. */
export const hourMillis = 3_600_000
/** One day, in milliseconds. */
export const dayMillis = 24 * hourMillis
const weekMillis = 7 * dayMillis

/** Hours are kept apart while younger than this. */
const hourlyMillis = 96 * hourMillis
/** Days are kept apart while younger than this. */
const dailyMillis = 35 * dayMillis
/** Older sends are forgotten. */
const keptMillis = 180 * dayMillis

/** 1970-01-05 00:00 UTC, a Monday. */
const firstMonday = 4 * dayMillis

/**
 * Which sends count, and how much. `window`: all sends in `[now - offset - lookback, now - offset)` alike; `adaptive`:
 * the last 180 days, each send half as much as one that is `halfLifeDays` younger. All in days, fractions allowed.
 */
export type Window =
  | { readonly mode: "adaptive"; readonly halfLifeDays: number }
  | { readonly mode: "window"; readonly lookbackDays: number; readonly offsetDays: number }

/** A stretch of send times that is counted as one, `[start, end)`, in Unix milliseconds. */
export interface Bucket {
  readonly start: number
  readonly end: number
}

/**
 * The bucket of a send at `sentAt` as of `now` (both Unix milliseconds): its hour (UTC); once the whole day is 96 hours
 * old, its day; once the whole week (from Monday) is 35 days old, its week. Whole days and weeks move at once, so that
 * at any time buckets do not overlap and the start alone names one. A send in the future is in the bucket of its hour.
 */
export const bucketAt = (sentAt: number, now: number): Bucket => {
  const week = Math.floor((sentAt - firstMonday) / weekMillis) * weekMillis + firstMonday
  if (week + weekMillis <= now - dailyMillis) return { start: week, end: week + weekMillis }
  const day = Math.floor(sentAt / dayMillis) * dayMillis
  if (day + dayMillis <= now - hourlyMillis) return { start: day, end: day + dayMillis }
  const hour = Math.floor(sentAt / hourMillis) * hourMillis
  return { start: hour, end: hour + hourMillis }
}

/** Whether the bucket starting at `start` is more than 180 days old at `now` and is to be dropped. */
export const isExpired = (start: number, now: number): boolean => start < now - keptMillis

/** The send times that a window selects at `now`, `[from, to)` in Unix milliseconds. */
export const windowBounds = (window: Window, now: number): { readonly from: number; readonly to: number } => {
  if (window.mode === "adaptive") return { from: now - keptMillis, to: now }
  const to = now - window.offsetDays * dayMillis
  return { from: to - window.lookbackDays * dayMillis, to }
}

/**
 * Age in hours of the sends of a bucket at `now`: that of its middle, and while the bucket is still open, of the middle
 * of what has passed of it. Never negative.
 */
export const bucketAgeHours = ({ end, start }: Bucket, now: number): number =>
  Math.max(0, now - (start + Math.min(end, now)) / 2) / hourMillis

/**
 * Weight in [0, 1] of a bucket's counts at `now`. 0 unless the bucket's start lies inside the window, whatever part of it
 * does; in adaptive mode halved with every half-life of the bucket's age.
 */
export const bucketWeight = (window: Window, bucket: Bucket, now: number): number => {
  const { from, to } = windowBounds(window, now)
  if (bucket.start < from || bucket.start >= to) return 0
  return window.mode === "window" ? 1 : 0.5 ** (bucketAgeHours(bucket, now) / 24 / window.halfLifeDays)
}
