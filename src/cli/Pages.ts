import { Effect, Option } from "effect"

/** The items of all pages. `read` reads the page at a cursor; the first page has none. */
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
