import type { ComponentChildren } from "preact"
import {
  isNarrowed,
  type ListPage as ShownPart,
  type ListQuery,
  listQueryIn,
  type ListShape,
  pageOf,
} from "../../domain/List.ts"
import { english, t, translated } from "../../languages/Language.ts"
import { count, counted } from "../Format.ts"
import { Card } from "./Card.tsx"
import { Empty } from "./Empty.tsx"
import { ListForm, ListPages, sortHeading } from "./ListParts.tsx"
import type { FirstRows } from "./MoreRows.tsx"
import { type Cell, type SortHeading, Table } from "./Table.tsx"

/** A list as the query of its page asks for it. */
interface QueriedList<Row> {
  readonly shape: ListShape<Row>
  /** The address of the list. */
  readonly at: string
  readonly listQuery: ListQuery
  readonly page: ShownPart<Row>
}

/** The part of `rows` that the query asks for, up to `size` rows. */
export const listIn = <Row,>(
  shape: ListShape<Row>,
  rows: ReadonlyArray<Row>,
  { at, query, size }: { readonly at: string; readonly query: URLSearchParams; readonly size: number },
): QueriedList<Row> => {
  const listQuery = listQueryIn(shape, query)
  return { shape, at, listQuery, page: pageOf(shape, rows, listQuery, size) }
}

const nouns = {
  account: {
    find: english("Search accounts"),
    none: english("No matching accounts"),
    pages: english("Pages of accounts"),
    counted: (found: number) => counted(found, "account"),
  },
  invitation: {
    find: english("Search invitations"),
    none: english("No matching invitations"),
    pages: english("Pages of invitations"),
    counted: (found: number) => counted(found, "invitation"),
  },
  key: {
    find: english("Search keys"),
    none: english("No matching keys"),
    pages: english("Pages of keys"),
    counted: (found: number) => counted(found, "key"),
  },
  member: {
    find: english("Search members"),
    none: english("No matching members"),
    pages: english("Pages of members"),
    counted: (found: number) => counted(found, "member"),
  },
  message: {
    find: english("Search messages"),
    none: english("No matching messages"),
    pages: english("Pages of messages"),
    counted: (found: number) => counted(found, "message"),
  },
  notification: {
    find: english("Filter notifications"),
    none: english("No matching notifications"),
    pages: english("Pages of notifications"),
    counted: (found: number) => counted(found, "notification"),
  },
} as const

/** What a row of a list is. */
type Noun = keyof typeof nouns

/** `3 keys of 40`, or `all` for a list without a search or filter. */
export const narrowedCaption = <Row,>({ listQuery, page }: QueriedList<Row>, noun: Noun, all: string): string =>
  isNarrowed(listQuery) ? t`${nouns[noun].counted(page.found)} of ${count(page.all)}` : all

/**
 * A list on its page: search and filters, the table, the links to more rows, and the text of an empty list.
 */
export const ListPage = <Row,>({ caption, empty, first, headings, list, noun, placeholder, row, search }: {
  readonly list: QueriedList<Row>
  readonly noun: Noun
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
  const { listQuery, at, page, shape } = list
  const { all, found, rows } = page
  return (
    <Card kind="flush">
      <ListForm
        all={all}
        listQuery={listQuery}
        at={at}
        label={translated(nouns[noun].find)}
        shape={shape}
        {...(placeholder === undefined ? {} : { placeholder })}
      />
      {found === 0 && (isNarrowed(listQuery) || empty === undefined)
        ? <Empty title={translated(nouns[noun].none)}>{search ?? t`Change or clear the search and the filters.`}</Empty>
        : found === 0
        ? empty
        : (
          <Table
            cards="labelled"
            caption={caption}
            headings={headings((name) => sortHeading(shape, listQuery, { all, at, name }))}
            rows={rows.map(row)}
            {...(first === undefined ? {} : { first })}
          />
        )}
      <ListPages listQuery={listQuery} at={at} label={translated(nouns[noun].pages)} page={page} shape={shape} />
    </Card>
  )
}
