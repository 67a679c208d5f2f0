import type { ComponentChildren } from "preact"
import {
  askedIn,
  type AskedList,
  isNarrowed,
  type ListPage as ShownPart,
  type ListShape,
  pageOf,
} from "../../domain/List.ts"
import { count, counted } from "../Format.ts"
import { Card } from "./Card.tsx"
import { Empty } from "./Empty.tsx"
import { ListForm, ListPages, sortHeading } from "./ListParts.tsx"
import type { FirstRows } from "./MoreRows.tsx"
import { type Cell, type SortHeading, Table } from "./Table.tsx"

/** A list as the query of its page asks for it. */
interface AskedPage<Row> {
  readonly shape: ListShape<Row>
  /** The address of the list. */
  readonly at: string
  readonly asked: AskedList
  readonly page: ShownPart<Row>
}

/** The part of `rows` that the query asks for, up to `size` rows. */
export const listIn = <Row,>(
  shape: ListShape<Row>,
  rows: ReadonlyArray<Row>,
  { at, query, size }: { readonly at: string; readonly query: URLSearchParams; readonly size: number },
): AskedPage<Row> => {
  const asked = askedIn(shape, query)
  return { shape, at, asked, page: pageOf(shape, rows, asked, size) }
}

/** `3 keys of 40`, or `all` for a list without a search or filter. */
export const narrowedCaption = <Row,>({ asked, page }: AskedPage<Row>, noun: string, all: string): string =>
  isNarrowed(asked) ? `${counted(page.found, noun)} of ${count(page.all)}` : all

/**
 * A list on its page: search and filters, the table, the links to more rows, and the text of an empty list.
 */
export const ListPage = <Row,>({ caption, empty, first, headings, list, noun, placeholder, row, search }: {
  readonly list: AskedPage<Row>
  /** One row, such as `key`. */
  readonly noun: string
  readonly caption: string
  /** Placeholder of the search; absent if the list can only be filtered. */
  readonly placeholder?: string
  /** Shown if the list has no rows at all. */
  readonly empty?: ComponentChildren
  /** The advice if no row matches. */
  readonly search?: string
  readonly headings: (sorted: (name: string) => SortHeading | string) => ReadonlyArray<SortHeading | string>
  readonly row: (row: Row) => ReadonlyArray<Cell | ComponentChildren>
  /** Cards that narrow screens show at first. */
  readonly first?: FirstRows
}) => {
  const { asked, at, page, shape } = list
  const { all, found, rows } = page
  return (
    <Card kind="flush">
      <ListForm
        all={all}
        asked={asked}
        at={at}
        label={`${placeholder === undefined ? "Filter" : "Search"} ${noun}s`}
        shape={shape}
        {...(placeholder === undefined ? {} : { placeholder })}
      />
      {found === 0 && (isNarrowed(asked) || empty === undefined)
        ? <Empty title={`No matching ${noun}s`}>{search ?? "Change or clear the search and the filters."}</Empty>
        : found === 0
        ? empty
        : (
          <Table
            cards="labelled"
            caption={caption}
            headings={headings((name) => sortHeading(shape, asked, { all, at, name }))}
            rows={rows.map(row)}
            {...(first === undefined ? {} : { first })}
          />
        )}
      <ListPages asked={asked} at={at} label={`Pages of ${noun}s`} page={page} shape={shape} />
    </Card>
  )
}
