import { t } from "../../languages/Language.ts"

/** Leads to the next page of a list, and back to its start. */
export const Pagination = ({ at, cursor, isOldestFirst = false, label, next }: {
  readonly label: string
  /** The address of the first page. */
  readonly at: string
  /** The cursor of this page. Undefined on the first page. */
  readonly cursor: unknown
  /** The cursor of the next page. Null on the last page. */
  readonly next: string | number | null
  /** Whether the list begins with the oldest row. Default: with the newest row. */
  readonly isOldestFirst?: boolean
}) =>
  cursor === undefined && next === null ? null : (
    <nav class="pagination" aria-label={label}>
      {cursor !== undefined && <a class="button compact" href={at}>{isOldestFirst ? t`Oldest` : t`Newest`}</a>}
      {next !== null && (
        <a class="button compact" href={`${at}${at.includes("?") ? "&" : "?"}cursor=${next}`} rel="next">
          {isOldestFirst ? t`Newer` : t`Older`}
        </a>
      )}
    </nav>
  )
