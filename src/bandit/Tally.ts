import { EventName } from "../domain/Event.ts"
import type { ContextKey } from "./Contexts.ts"

/**
 * What is counted, per decision once each: the decision itself, every kind of event, `negative` (at least one of
 * `unsubscribe` and `spam`) and `voided` (a `bounce`, `soft_bounce` or `failed` without any human engagement or
 * conversion: nobody saw it, so that it is no trial).
 */
export const measures = ["decisions", ...EventName.literals, "negative", "voided"] as const
export type Measure = (typeof measures)[number]

/**
 * Which decisions or events a tally is about: `learned` ones, `forced` decisions with all their events (reported, never
 * learned from), and `automated` events, those of machines, of decisions of either kind.
 */
export const tracks = ["learned", "forced", "automated"] as const
export type Track = (typeof tracks)[number]

/** Counts by measure; what is absent is 0. */
export type TallyCounts = { readonly [measure in Measure]?: number }

/** The counts of one variant in one context for the decisions of one bucket of time. */
export interface Tally {
  readonly copyId: string
  /** The key of the recorded context; in tables the column `segment`. */
  readonly context: ContextKey
  /** Start of the bucket of the decisions (hour, day or week, see `bucketAt`), Unix milliseconds. */
  readonly start: number
  readonly track: Track
  readonly counts: TallyCounts
}
