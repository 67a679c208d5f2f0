import { Effect, Option } from "effect"

/** Reads the items of all pages. `read` returns the page at a cursor, or the first page for `undefined`. */
export const allPages = Effect.fnUntraced(function* <Item, E, R>(
  read: (
    cursor: Option.Option<string>,
  ) => Effect.Effect<{ readonly items: ReadonlyArray<Item>; readonly next: string | number | null }, E, R>,
) {
  const all: Array<Item> = []
  let cursor = Option.none<string>()
  do {
    const page = yield* read(cursor)
    all.push(...page.items)
    cursor = Option.map(Option.fromNullOr(page.next), String)
  } while (Option.isSome(cursor))
  return all
})
