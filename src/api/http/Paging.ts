import { Effect } from "effect"

/**
 * Loads a page of at most `limit` rows. `rows` loads one more, so that `next`, the cursor of the following page, is null on
 * the last page even if that page is full.
 */
export const pageBy = <A, Cursor, E, R>(
  limit: number,
  rows: (limit: number) => Effect.Effect<ReadonlyArray<A>, E, R>,
  cursorOf: (last: A) => Cursor,
) =>
  Effect.map(rows(limit + 1), (found) => ({
    page: found.slice(0, limit),
    next: found.length > limit ? cursorOf(found[limit - 1]!) : null,
  }))

/** Loads a page whose cursor is the id of its last row, as `pageBy` does. */
export const pageOf = <A extends { readonly id: unknown }, E, R>(
  limit: number,
  rows: (limit: number) => Effect.Effect<ReadonlyArray<A>, E, R>,
) => pageBy(limit, rows, ({ id }): A["id"] => id)
