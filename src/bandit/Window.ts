import type { LearningWindow } from "../domain/LearningWindow.ts"

/** One hour, in milliseconds. */
export const hourMillis = 3_600_000
/** One day, in milliseconds. */
export const dayMillis = 24 * hourMillis
const weekMillis = 7 * dayMillis

/** Age up to which each hour has its own bucket. */
const hourlyMillis = 96 * hourMillis
/** Age up to which each day has its own bucket. */
const dailyMillis = 35 * dayMillis
/** Age at which sends are dropped. */
export const keptMillis = 180 * dayMillis

/** Age at which an outcome counts half in the adaptive mode. Unit: days. */
const halfLifeDays = 35

/** 1970-01-05 00:00 UTC, a Monday. */
const firstMonday = 4 * dayMillis

/**
 * The sends that count, and their weights. `window`: all sends in `[now - offset - lookback, now - offset)` count
 * fully. `adaptive`: the sends of the last 180 days count, and the weight halves with every `halfLifeDays` of age.
 * Unit: days, including fractions.
 */
export type Window =
  | { readonly mode: "adaptive"; readonly halfLifeDays: number }
  | { readonly mode: "window"; readonly lookbackDays: number; readonly offsetDays: number }

/** Returns the window of a fit: the requested one, or the adaptive mode. */
export const windowOf = (window: LearningWindow | undefined): Window =>
  window === undefined ? { mode: "adaptive", halfLifeDays } : { mode: "window", ...window }

/** An interval of send times that is counted as one, `[start, end)`. Unit: Unix milliseconds. */
interface Bucket {
  readonly start: number
  readonly end: number
}

/**
 * Returns the bucket of a send at `sentAt` as of `now` (both Unix milliseconds): its hour (UTC), or its day once the
 * whole day is 96 hours old, or its week once the whole week (from Monday) is 35 days old. Whole days and weeks move at
 * once, so that buckets never overlap and the start identifies one. The bucket of a send in the future is its hour.
 */
export const bucketAt = (sentAt: number, now: number): Bucket => {
  const week = Math.floor((sentAt - firstMonday) / weekMillis) * weekMillis + firstMonday
  if (week + weekMillis <= now - dailyMillis) return { start: week, end: week + weekMillis }
  const day = Math.floor(sentAt / dayMillis) * dayMillis
  if (day + dayMillis <= now - hourlyMillis) return { start: day, end: day + dayMillis }
  const hour = Math.floor(sentAt / hourMillis) * hourMillis
  return { start: hour, end: hour + hourMillis }
}

/** Whether the bucket that starts at `start` is more than 180 days old at `now`, so that it is dropped. */
export const isExpired = (start: number, now: number): boolean => start < now - keptMillis

/** The send times that a window selects at `now`: `[from, to)` in Unix milliseconds. */
export const windowBounds = (window: Window, now: number): { readonly from: number; readonly to: number } => {
  if (window.mode === "adaptive") return { from: now - keptMillis, to: now }
  const to = now - window.offsetDays * dayMillis
  return { from: to - window.lookbackDays * dayMillis, to }
}

/** Returns the start of the first bucket, as of `now`, that starts at `time` or later. Buckets have no gaps. */
export const firstBucketFrom = (time: number, now: number): number => {
  const { end, start } = bucketAt(time, now)
  return start >= time ? start : end
}

/**
 * The send times of the buckets that a window selects at `now`: `[from, to)` in Unix milliseconds. A bucket counts if its
 * start is in the window, so each bound is later than the bound of `windowBounds` by less than an hour, a day or a week.
 */
export const countedBounds = (window: Window, now: number): { readonly from: number; readonly to: number } => {
  const { from, to } = windowBounds(window, now)
  return { from: firstBucketFrom(from, now), to: Math.min(now, firstBucketFrom(to, now)) }
}

/**
 * Age of the sends of a bucket at `now`, measured from the middle of the bucket. If the bucket is open, from the middle
 * of its elapsed part. Unit: hours. Never negative.
 */
export const bucketAgeHours = ({ end, start }: Bucket, now: number): number =>
  Math.max(0, now - (start + Math.min(end, now)) / 2) / hourMillis

/**
 * Weight in [0, 1] of a bucket's counts at `now`. 0 if the bucket's start is outside the window, even if a part of the
 * bucket is inside. In adaptive mode, the weight halves with every half-life of the bucket's age.
 */
export const bucketWeight = (window: Window, bucket: Bucket, now: number): number => {
  const { from, to } = windowBounds(window, now)
  if (bucket.start < from || bucket.start >= to) return 0
  return window.mode === "window" ? 1 : 0.5 ** (bucketAgeHours(bucket, now) / 24 / window.halfLifeDays)
}
