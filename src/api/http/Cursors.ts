import { Result, Schema } from "effect"
import { Buffer } from "node:buffer"
import { hash } from "node:crypto"
import { described, type Parameter, type ReadParameter } from "./Parameters.ts"

// Pages of lists. A request names its page by `cursor`. The response has `next_cursor`, which is null on the last page.
// Earlier versions had the row's own position in `next`, and read it from `after` or `before`.

/** Detects a damaged cursor, and a cursor of another list. */
const checkOf = (list: string, position: string): string =>
  hash("sha256", `${list}\0${position}`, "base64url").slice(0, 6)

/** Returns the cursor that continues the list after a position. */
export const cursorOf = (list: string, position: string | number): string =>
  Buffer.from(`${checkOf(list, `${position}`)}${position}`).toString("base64url")

/** Returns the position in a cursor of the list, or undefined for any other text. */
export const positionIn = (list: string, cursor: string): string | undefined => {
  const text = Buffer.from(cursor, "base64url").toString()
  const position = text.slice(6)
  return cursorOf(list, position) === cursor ? position : undefined
}

const fault = "must be the `next_cursor` of a page of this list, unchanged. Leave it out to begin with the first page"

const ofList = <A>(list: string, read: ReadParameter<A>): ReadParameter<A> => (text) => {
  const position = text === undefined ? undefined : positionIn(list, text)
  if (text !== undefined && position === undefined) return Result.fail(fault)
  return Result.mapError(read(position), () => fault)
}

/** The parameter `cursor` of a list. Responses to its requests have the `next_cursor` of the same list. */
type CursorOf<A> = Parameter<A> & { readonly list: string }

const cursorParameter = <A>(list: string, read: ReadParameter<A>): CursorOf<A> =>
  Object.assign(described("Cursor: `next_cursor` of the previous page. Default: the first page", read), { list })

/** An earlier name of the parameter `cursor`, which reads the `next` of a page. */
type EarlierName = Parameter<unknown> & { readonly replacedBy: "cursor" }

/** Describes an earlier name of the parameter `cursor`. Its value is the value of `cursor` in the decoded query. */
export const earlierName = (description: string, read: ReadParameter<unknown>): EarlierName =>
  Object.assign(described(description, read), {
    replacedBy: "cursor" as const,
  })

/** Describes the cursor of a list, with its earlier name. `read` reads the position of a row. */
export const cursor = <A, const Name extends "after" | "before">(
  list: string,
  name: Name,
  read: ReadParameter<A>,
): { readonly cursor: CursorOf<A> } & { readonly [name in Name]: EarlierName } =>
  ({
    cursor: cursorParameter(list, ofList(list, read)),
    [name]: earlierName("Earlier name of `cursor`, for the `next` of the previous page", read),
  }) as never

/** Describes the cursor of a list whose parameter also reads the `next` of a page, as in earlier versions. */
export const cursorOrNext = <A>(list: string, read: ReadParameter<A>): { readonly cursor: CursorOf<A> } => {
  const readCursor = ofList(list, read)
  return {
    cursor: cursorParameter(list, (text) => {
      const found = readCursor(text)
      return Result.isSuccess(found) ? found : Result.mapError(read(text), () => fault)
    }),
  }
}

/** The members of a page that lead to the following page. */
export const following = <Position extends Schema.Top>(position: Position) => ({
  next_cursor: Schema.NullOr(Schema.String).annotate({
    description: "Value of `cursor` for the following page; null on the last page",
  }),
  next: Schema.NullOr(position).annotate({
    description: "Earlier form of `next_cursor`, for the earlier name of `cursor`",
  }),
})

/** Adds `next_cursor` to the page of a list, by its `next`. */
export const withNextCursor = <A>(
  { list }: { readonly list: string },
  page: A,
): A & { readonly next_cursor: unknown } => {
  const { next } = page as { readonly next: string | number | null }
  return { ...page, next_cursor: next === null ? null : cursorOf(list, next) }
}
