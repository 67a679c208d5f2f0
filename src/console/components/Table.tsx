import type { ComponentChildren } from "preact"
import { type FirstRows, MoreRows } from "./MoreRows.tsx"

/** A cell of a table; the first one of a row is its heading. */
export interface Cell {
  readonly content: ComponentChildren
  /** Cells that are `wide` are hidden where rows are cards. */
  readonly kind?: "actions" | "nowrap" | "wide" | "nowrap wide"
  /** What the cell says, before its content where rows are cards. */
  readonly label?: string
}

/** The heading of a column that sorts the table. */
export interface SortHeading {
  readonly label: string
  /** The table sorted by this column; the other way round if it is sorted by it. */
  readonly href: string
  /** How the table is sorted by this column; undefined if it is sorted by another one. */
  readonly order: "ascending" | "descending" | undefined
}

/** The label of a cell, from its heading. A column of buttons has no label. */
const labelOf = (heading: string | SortHeading | undefined): string | undefined => {
  const text = typeof heading === "object" ? heading.label : heading
  return text?.startsWith("[") ? undefined : text
}

const arrows = { ascending: "↑", descending: "↓" } as const

const HeadingCell = ({ heading }: { readonly heading: string | SortHeading }) =>
  typeof heading === "string"
    ? (
      <th scope="col">
        {heading.startsWith("[") ? <span class="visually-hidden">{heading.slice(1, -1)}</span> : heading}
      </th>
    )
    : (
      <th scope="col" {...(heading.order === undefined ? {} : { "aria-sort": heading.order })}>
        <a class="sort" href={heading.href}>
          {heading.label}
          <span class="arrow" aria-hidden="true">{heading.order === undefined ? "↕" : arrows[heading.order]}</span>
        </a>
      </th>
    )

/**
 * A table with a caption; on narrow screens it scrolls by itself, also with the keyboard. An empty heading is `[hidden text]`.
 * With `cards`, narrow screens show each row as a card, with its first cell as the title: `line` has the other cells in one line,
 * `labelled` each in a line of its own, after the heading of its column, `tiles` up to three numbers in a row, each below
 * the heading of its column. They show the first rows, and a link shows the others.
 */
export const Table = ({ caption, cards, first = cards === "line" ? 12 : 6, headings, rows }: {
  readonly caption: string
  readonly cards?: "line" | "labelled" | "tiles"
  /** Cards that narrow screens show at first. Default: 12 of one line, else 6. */
  readonly first?: FirstRows
  readonly headings: ReadonlyArray<string | SortHeading>
  readonly rows: ReadonlyArray<ReadonlyArray<Cell | ComponentChildren>>
}) => (
  <div class="table-scroll" tabIndex={0} role="region" aria-label={caption}>
    <table {...(cards === undefined ? {} : { class: cards === "line" ? "cards" : `cards ${cards}` })}>
      <caption>{caption}</caption>
      <thead>
        <tr>{headings.map((heading) => <HeadingCell heading={heading} />)}</tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            {row.map((cell, index) => {
              const { content, kind, label } = isCell(cell) ? cell : { content: cell }
              return index === 0 ? <th scope="row">{content}</th> : (
                <td
                  class={kind}
                  {...(cards === "labelled" || cards === "tiles" ? { "data-label": labelOf(headings[index]) } : {})}
                >
                  {label !== undefined && <span class="card-label" aria-hidden="true">{label}:</span>}
                  {content}
                </td>
              )
            })}
          </tr>
        ))}
      </tbody>
    </table>
    {cards !== undefined && <MoreRows first={first} rows={rows.length} />}
  </div>
)

const isCell = (value: Cell | ComponentChildren): value is Cell =>
  value !== null && typeof value === "object" && "content" in value
