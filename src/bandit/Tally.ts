import { setAsideNames } from "../domain/ClickReasons.ts"
import { countedEvents } from "../domain/EventKinds.ts"
import { type ValuedOutcome, valuedOutcomes } from "../domain/ObjectiveWeights.ts"
import type { ContextKey } from "./Contexts.ts"

/**
 * The value of conversions, for decisions under a revenue rule (see `Revenue`): `revenue` in thousandths,
 * `revenue_square` (the sum of the decisions' squares), and `other_currency` (the number of conversions in another
 * currency).
 */
export const revenueMeasures = ["revenue", "revenue_square", "other_currency"] as const
/** A count of revenue. */
export type RevenueMeasure = (typeof revenueMeasures)[number]

/**
 * The counts of a tally. At most one per decision: the decision itself, every kind of event except refunds, `negative`
 * (at least one opt-out, see `eventKinds`) and `voided` (an undelivered message without any human engagement or
 * conversion, so that the message was not seen). Other counts can exceed one per decision: the measures of revenue, and
 * `unrendered`, the failed renderings, which are included in the `decisions` of the track `learned`, but not of
 * `forced`. The track `automated` also counts every click that was set aside, by its reason (see `machineClicks`), and
 * `only_set_aside`, the messages with such clicks and without a person's. All counts are whole numbers, so that sums are
 * exact in any order.
 */
export const measures = [
  "decisions",
  ...countedEvents,
  "negative",
  "voided",
  ...revenueMeasures,
  "unrendered",
  ...setAsideNames,
  "only_set_aside",
] as const
/** Name of a count of a tally. */
export type Measure = (typeof measures)[number]

/**
 * The decisions or events that a tally counts: `learned` decisions, `forced` decisions with all their events (reported,
 * never learned from), and `automated` events, which machines caused, of decisions of either kind.
 */
export const tracks = ["learned", "forced", "automated"] as const
/** Name of a kind of counted decisions or events. */
export type Track = (typeof tracks)[number]

/** Counts by measure. An absent count is 0. */
export type TallyCounts = { readonly [measure in Measure]?: number }

/** Outcomes whose repetition by one person is counted. */
export const repeatedOutcomes = valuedOutcomes
/** An outcome whose repeats are counted. */
export type RepeatedOutcome = ValuedOutcome

/** Returns the name of a count of repeats, see `RepeatChange`. */
export const repeatName = <const K extends "again" | "seen">(outcome: RepeatedOutcome, kind: K) =>
  `${outcome}_${kind}` as const

/** Counts of repeats. Absent counts are 0. */
export type RepeatCounts = { readonly [name in `${RepeatedOutcome}_${"again" | "seen"}`]?: number }

/** The counts of one variant in one context for the decisions of one time bucket. */
export interface Tally {
  readonly copyId: string
  /** The key of the recorded context. Stored in the column `segment`. */
  readonly context: ContextKey
  /** Start of the bucket of the decisions (hour, day or week, see `bucketAt`). Unit: Unix milliseconds. */
  readonly start: number
  readonly track: Track
  readonly counts: TallyCounts
}
