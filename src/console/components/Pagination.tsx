/** To the next page of a list by cursor, and back to its start. */
export const Pagination = ({ first, isOldestFirst = false, label, next }: {
  readonly label: string
  /** The start of the list; absent on the first page. */
  readonly first?: string | undefined
  readonly next?: string | undefined
  /** Whether the list begins with what is oldest. Default: with what is newest. */
  readonly isOldestFirst?: boolean
}) =>
  first === undefined && next === undefined ? null : (
    <nav class="pagination" aria-label={label}>
      {first !== undefined && <a class="button compact" href={first}>{isOldestFirst ? "Oldest" : "Newest"}</a>}
      {next !== undefined && <a class="button compact" href={next} rel="next">{isOldestFirst ? "Newer" : "Older"}</a>}
    </nav>
  )
