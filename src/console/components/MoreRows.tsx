import { t } from "../../languages/Language.ts"

/** How many rows narrow screens can show at first, as the style sheet knows it. */
export type FirstRows = 2 | 3 | 6 | 12

/**
 * Shows the hidden rows of the preceding list, of which narrow screens show the first rows only. Works without scripts.
 * Absent if fewer than two rows are hidden. `what`: the rows, such as `variants`.
 */
export const MoreRows = ({ first, rows, what = "rows" }: {
  readonly first: FirstRows
  readonly rows: number
  readonly what?: string
}) =>
  rows <= first + 1 ? null : (
    <label class={`show-rows of-${first}`}>
      <input type="checkbox" />
      {t`Show all ${rows} ${what}`}
    </label>
  )
