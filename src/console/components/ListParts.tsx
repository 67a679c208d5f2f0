import type { ComponentChildren } from "preact"
import { isNarrowed, type ListPage, type ListQuery, type ListShape, nextQuery, queryOf } from "../../domain/List.ts"
import { t, translated } from "../../languages/Language.ts"
import { count, counted } from "../Format.ts"
import type { SortHeading } from "./Table.tsx"

/** Lists of up to so many rows show no search, no filters and no links to sort. */
const shortList = 10

/** Number of filters in one line with the search on a laptop. The others are folded until one of them is in use. */
const filtersInLine = 3

/** The search, the filters and the order of a list, as a form without JavaScript. Absent for short lists. */
export const ListForm = <Row,>({ all, listQuery, at, children, label, placeholder, shape, start = at }: {
  readonly shape: ListShape<Row>
  readonly listQuery: ListQuery
  /** The address of the list. */
  readonly at: string
  /** The list without a search or filter. Default: `at`. */
  readonly start?: string
  /** Rows before any search or filter. */
  readonly all: number
  readonly label: string
  /** Absent: the list cannot be searched, only filtered. */
  readonly placeholder?: string
  /** Hidden fields that stay as they are. */
  readonly children?: ComponentChildren
}) => {
  if (all <= shortList && !isNarrowed(listQuery)) return null
  const { descending, filters, search, sort } = listQuery
  const offered = Object.entries(shape.filters).filter(([, { options }]) => options.length > 0)
  const fields = offered.map(([name, filter]) => (
    <div class="field">
      <label for={`filter-${name}`}>{translated(filter.label)}</label>
      <select id={`filter-${name}`} name={name}>
        <option value="">{t`All`}</option>
        {filter.options.map(([value, text]) => (
          <option value={value} selected={filters[name] === value}>{translated(text)}</option>
        ))}
      </select>
    </div>
  ))
  const folded = offered.slice(filtersInLine)
  return (
    <form method="get" action={at} class="list-form" role="search" aria-label={label}>
      {children}
      {placeholder !== undefined && (
        <div class="field grow">
          <label for="q">{t`Search`}</label>
          <input type="search" id="q" name="q" value={search} placeholder={placeholder} autocomplete="off" />
        </div>
      )}
      {fields.slice(0, filtersInLine)}
      {sort !== shape.sort && <input type="hidden" name="sort" value={sort} />}
      {descending !== shape.sorts[sort]!.descending && (
        <input type="hidden" name="order" value={descending ? "desc" : "asc"} />
      )}
      <div class="buttons">
        <button type="submit" class="button">{placeholder === undefined ? t`Filter` : t`Search`}</button>
        {isNarrowed(listQuery) && <a class="button" href={start}>{t`Show all`}</a>}
      </div>
      {folded.length > 0 && (
        <details open={folded.some(([name]) => filters[name] !== undefined)}>
          <summary>{counted(folded.length, "more filter")}</summary>
          <div class="more-fields">{fields.slice(filtersInLine)}</div>
        </details>
      )}
    </form>
  )
}

/** The heading of a column that the list can be sorted by. Of a short list, its text alone. */
export const sortHeading = <Row,>(
  shape: ListShape<Row>,
  listQuery: ListQuery,
  { all, at, more = {}, name }: {
    /** Rows before any search or filter. */
    readonly all: number
    readonly at: string
    readonly name: string
    /** More parameters of the query. */
    readonly more?: Readonly<Record<string, string>>
  },
): SortHeading | string => {
  const { descending, label: source } = shape.sorts[name]!
  const label = translated(source)
  if (all <= shortList) return label
  const isCurrent = listQuery.sort === name
  const href = queryOf(shape, listQuery, {
    sort: name,
    descending: isCurrent ? !listQuery.descending : descending,
    more,
  })
  return {
    label,
    href: `${at}${href}`,
    order: isCurrent ? (listQuery.descending ? "descending" : "ascending") : undefined,
  }
}

/** The rows that are shown, such as `26–50 of 201`, and the ways to the start and on. */
export const ListPages = <Row,>({ listQuery, at, label, more = {}, page, shape }: {
  readonly shape: ListShape<Row>
  readonly listQuery: ListQuery
  readonly at: string
  readonly page: ListPage<Row>
  readonly label: string
  /** More parameters of the query. */
  readonly more?: Readonly<Record<string, string>>
}) => {
  const { before, found, rows } = page
  const next = nextQuery(shape, listQuery, page, more)
  return before === 0 && next === undefined ? null : (
    <nav class="pagination" aria-label={label}>
      {before !== 0 && (
        <a class="button compact" href={`${at}${queryOf(shape, listQuery, { more })}`}>{t`First page`}</a>
      )}
      <span class="small muted">{t`${count(before + 1)}–${count(before + rows.length)} of ${count(found)}`}</span>
      {next !== undefined && <a class="button compact" href={`${at}${next}`} rel="next">{t`Next page`}</a>}
    </nav>
  )
}
