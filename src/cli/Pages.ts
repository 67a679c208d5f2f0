import { Effect } from "effect"

/** Reads the items of all pages. `read` returns the page at a cursor, or the first page without a cursor. */
export const allPages = Effect.fnUntraced(function* <Item, E, R>(
  read: (
    cursor: string | undefined,
  ) => Effect.Effect<{ readonly items: ReadonlyArray<Item>; readonly next_cursor: string | null }, E, R>,
) {
  const all: Array<Item> = []
  let cursor: string | undefined
  do {
    const page = yield* read(cursor)
    all.push(...page.items)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return all
})
