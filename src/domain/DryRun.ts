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
  /** JSON pointer of the item. Absent for an event of a platform, whose reader does not keep it. */
  readonly pointer?: string
  readonly event?: NormalizedEvent
  readonly skipped?: Skipped
  readonly found: { readonly [member: string]: Found | null }
}

/** Maximum number of items that a dry run explains. */
export const maxExplained = 100

/** How a sample would be understood: the first 100 items, of `items` in all. */
export type DryRun = NotUnderstood | {
  readonly items: number
  readonly explained: ReadonlyArray<Explained>
  /** Members of events that could not be read, with their JSON pointers. Absent if there are none. */
  readonly incomplete?: ReadonlyArray<{ readonly pointer: string; readonly reason: string }>
  /** Number of people whose attributes would be updated. Absent if there are none. */
  readonly profiles?: number
  /** Number of requests to erase a person. Absent if there are none. */
  readonly erasures?: number
}
