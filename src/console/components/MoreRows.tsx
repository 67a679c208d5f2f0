/** How many rows narrow screens can show at first, as the style sheet knows it. */
export type FirstRows = 2 | 3 | 6 | 12

/**
 * Shows the other rows of the list right before it, of which narrow screens show only the first ones. Works without scripts.
 * Absent where one row or none would be hidden. `what`: the rows, such as `variants`.
 */
export const MoreRows = ({ first, rows, what = "rows" }: {
  readonly first: FirstRows
  readonly rows: number
  readonly what?: string
}) =>
  rows <= first + 1 ? null : (
    <label class={`show-rows of-${first}`}>
      <input type="checkbox" />
      Show all {rows} {what}
    </label>
  )
