/**
 * Returns a page of at most `limit` rows, given up to `limit + 1` rows. `next` is the cursor of the following page, or
 * null on the last page.
 */
export const pageOf = <A, Cursor>(found: ReadonlyArray<A>, limit: number, cursorOf: (last: A) => Cursor): {
  readonly page: ReadonlyArray<A>
  readonly next: Cursor | null
} => ({ page: found.slice(0, limit), next: found.length > limit ? cursorOf(found[limit - 1]!) : null })
