// Search, filters, sorting and paging of lists. Lists whose rows fit in memory, such as templates and keys, are paged
// here. Unbounded lists, such as deliveries, use only the reading of the query, and are paged by the database.

/** A way to sort a list. */
interface Sort<Row> {
  /** The heading of its column. */
  readonly label: string
  /** Whether the first click shows the largest value first. */
  readonly descending: boolean
  /** Texts sort as people expect: `Message 9` before `Message 10`. Null comes last, in both directions. */
  readonly valueOf: (row: Row) => string | number | null
}

/** A filter by one of a few values. */
export interface ListFilter<Row> {
  readonly label: string
  readonly options: ReadonlyArray<readonly [value: string, label: string]>
  readonly matches: (row: Row, value: string) => boolean
}

/** How a list can be searched, filtered and sorted. */
export interface ListShape<Row> {
  readonly idOf: (row: Row) => string
  /** Returns the searched texts of a row. */
  readonly textsOf: (row: Row) => ReadonlyArray<string>
  readonly filters: Readonly<Record<string, ListFilter<Row>>>
  readonly sorts: Readonly<Record<string, Sort<Row>>>
  /** The name of the default sort. */
  readonly sort: string
}

/** The parameters of a list in a query. */
export interface ListQuery {
  /** Empty: all rows. */
  readonly search: string
  /** Values by the name of the filter. Unknown filters and values are left out. */
  readonly filters: Readonly<Record<string, string>>
  readonly sort: string
  readonly descending: boolean
  /** The last row of the previous page: its id, and its value in the sort. Undefined on the first page. */
  readonly cursor: { readonly id: string; readonly after: string | null } | undefined
}

/** A page of a list. */
export interface ListPage<Row> {
  readonly rows: ReadonlyArray<Row>
  /** Number of rows without a search or filter. */
  readonly all: number
  /** Number of rows that match the search and the filters. */
  readonly found: number
  /** Number of matching rows before this page. */
  readonly before: number
  /** Whether a next page exists. */
  readonly hasMore: boolean
}

/** The most characters of a search. */
const maxSearch = 200

/** Reads the parameters of a list from a query. Unknown values are ignored. */
export const listQueryIn = <Row>(shape: ListShape<Row>, query: URLSearchParams): ListQuery => {
  const sort = query.get("sort") ?? ""
  const known = Object.hasOwn(shape.sorts, sort) ? sort : shape.sort
  const order = query.get("order")
  const id = query.get("cursor") ?? ""
  return {
    search: (query.get("q") ?? "").trim().slice(0, maxSearch),
    filters: Object.fromEntries(
      Object.entries(shape.filters).flatMap(([name, { options }]) => {
        const value = query.get(name) ?? ""
        return value !== "" && options.some(([one]) => one === value) ? [[name, value]] : []
      }),
    ),
    sort: known,
    descending: order === "desc" || (order !== "asc" && shape.sorts[known]!.descending),
    cursor: id === "" ? undefined : { id, after: query.get("after") },
  }
}

/** Whether a search or a filter is used. */
export const isNarrowed = ({ filters, search }: ListQuery): boolean => search !== "" || Object.keys(filters).length > 0

/** The query of the first page of a list. `change` replaces parameters. */
export const queryOf = <Row>(
  shape: ListShape<Row>,
  listQuery: ListQuery,
  change: Partial<Pick<ListQuery, "sort" | "descending">> & { readonly more?: Readonly<Record<string, string>> } = {},
): string => {
  const sort = change.sort ?? listQuery.sort
  const descending = change.descending ?? listQuery.descending
  const query = new URLSearchParams({
    ...change.more,
    ...(listQuery.search === "" ? {} : { q: listQuery.search }),
    ...listQuery.filters,
    ...(sort === shape.sort ? {} : { sort }),
    ...(descending === shape.sorts[sort]!.descending ? {} : { order: descending ? "desc" : "asc" }),
  })
  return query.size === 0 ? "" : `?${query}`
}

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" })

const compareTexts = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

/** Orders two values of a sort, null last. */
const compareValues = (a: string | number | null, b: string | number | null, descending: boolean): number => {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  const order = typeof a === "number" && typeof b === "number" ? a - b : collator.compare(`${a}`, `${b}`)
  return descending ? -order : order
}

/** The text of a value in a link to the next page. */
const textOf = (value: string | number | null): string | null => value === null ? null : `${value}`

/** Returns the requested page, up to `size` rows. */
export const pageOf = <Row>(
  shape: ListShape<Row>,
  rows: ReadonlyArray<Row>,
  listQuery: ListQuery,
  size: number,
): ListPage<Row> => {
  const wanted = listQuery.search.toLowerCase()
  const found = rows.filter((row) =>
    (wanted === "" || shape.textsOf(row).some((text) => text.toLowerCase().includes(wanted))) &&
    Object.entries(listQuery.filters).every(([name, value]) => shape.filters[name]!.matches(row, value))
  )
  const { valueOf } = shape.sorts[listQuery.sort]!
  const compare = (a: Row, b: Row) =>
    compareValues(valueOf(a), valueOf(b), listQuery.descending) || compareTexts(shape.idOf(a), shape.idOf(b))
  const sorted = found.toSorted(compare)
  const start = startOf(shape, sorted, listQuery)
  return {
    rows: sorted.slice(start, start + size),
    all: rows.length,
    found: found.length,
    before: start,
    hasMore: sorted.length > start + size,
  }
}

/**
 * The index of the first row after the cursor. If the row of the cursor was removed or changed, its stored value is
 * used.
 */
const startOf = <Row>(shape: ListShape<Row>, sorted: ReadonlyArray<Row>, { cursor, descending, sort }: ListQuery) => {
  if (cursor === undefined) return 0
  const { valueOf } = shape.sorts[sort]!
  const cursorIndex = sorted.findIndex((row) => shape.idOf(row) === cursor.id)
  if (cursorIndex >= 0 && (cursor.after === null || textOf(valueOf(sorted[cursorIndex]!)) === cursor.after)) {
    return cursorIndex + 1
  }
  const { after, id } = cursor
  const isNumeric = sorted.some((row) => typeof valueOf(row) === "number")
  const value = after !== null && isNumeric ? Number(after) : after
  const index = sorted.findIndex((row) =>
    (compareValues(valueOf(row), value, descending) || compareTexts(shape.idOf(row), id)) > 0
  )
  return index < 0 ? 0 : index
}

/** The query of the next page. Undefined on the last page. */
export const nextQuery = <Row>(
  shape: ListShape<Row>,
  listQuery: ListQuery,
  { hasMore, rows }: Pick<ListPage<Row>, "hasMore" | "rows">,
  more: Readonly<Record<string, string>> = {},
): string | undefined => {
  const last = rows.at(-1)
  if (!hasMore || last === undefined) return undefined
  const after = textOf(shape.sorts[listQuery.sort]!.valueOf(last))
  const cursor = { cursor: shape.idOf(last), ...(after === null ? {} : { after }) }
  return queryOf(shape, listQuery, { more: { ...cursor, ...more } })
}
