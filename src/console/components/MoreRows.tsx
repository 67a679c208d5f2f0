import { t } from "../../languages/Language.ts"

/** How many rows narrow screens can show at first, as the style sheet knows it. */
export type FirstRows = 2 | 3 | 6 | 12

/**
 * Shows the hidden rows of the preceding list, of which narrow screens show the first rows only. Works without scripts.
 * Absent if fewer than two rows are hidden.
 */
export const MoreRows = ({ first, rows, label = t`Show all ${rows} rows` }: {
  readonly first: FirstRows
  readonly rows: number
  readonly label?: string
}) =>
  rows <= first + 1 ? null : (
    <label class={`show-rows of-${first}`}>
      <input type="checkbox" />
      {label}
    </label>
  )
