import type { NormalizedEvent, SkippedItem } from "./Event.ts"

/** A body of which nothing was understood, and why. */
export interface NotUnderstood {
  readonly reason: string
}

/** An item that became nothing, and why. */
export type Skipped = Omit<SkippedItem, "pointer">

/** A value and where it was found. */
export interface Found {
  readonly from: string
  readonly value: string
}

/** The result of an item, and the place of each value; null if the value was not found. */
export interface Explained {
  /** JSON pointer of the item. */
  readonly pointer: string
  readonly event?: NormalizedEvent
  readonly skipped?: Skipped
  readonly found: { readonly [member: string]: Found | null }
}

/** The outcome of a mapping for a sample: the first 100 items, of `items` in all. */
export type DryRun = NotUnderstood | { readonly items: number; readonly explained: ReadonlyArray<Explained> }
