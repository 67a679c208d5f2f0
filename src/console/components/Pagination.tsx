/** @jsxImportSource preact */

/** To the next page of a list by cursor, and back to its start. */
export const Pagination = ({ first, label, next }: {
  readonly label: string
  /** The start of the list; absent on the first page. */
  readonly first?: string | undefined
  readonly next?: string | undefined
}) =>
  first === undefined && next === undefined ? null : (
    <nav class="pagination" aria-label={label}>
      {first === undefined ? null : <a class="button compact" href={first}>Newest</a>}
      {next === undefined ? null : <a class="button compact" href={next} rel="next">Older</a>}
    </nav>
  )
