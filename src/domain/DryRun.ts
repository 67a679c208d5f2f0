import type { NormalizedEvent, SkippedItem } from "./Event.ts"

/** The reason why a body was not understood. */
export interface NotUnderstood {
  readonly reason: string
}

/** An item without an event, with the reason. */
export type Skipped = Omit<SkippedItem, "pointer">

/** A value with its place in the body. */
export interface Found {
  readonly from: string
  readonly value: string
}

/** The result of an item, with the place of each value. Null for a value that was not found. */
export interface Explained {
  /** JSON pointer of the item. */
  readonly pointer: string
  readonly event?: NormalizedEvent
  readonly skipped?: Skipped
  readonly found: { readonly [member: string]: Found | null }
}

/** The outcome of a mapping for a sample: the first 100 items, of `items` in all. */
export type DryRun = NotUnderstood | { readonly items: number; readonly explained: ReadonlyArray<Explained> }
