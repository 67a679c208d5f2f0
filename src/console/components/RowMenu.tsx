import type { ComponentChildren } from "preact"

/** The actions of a row behind one button. Each child is an `li` with a link or a form. */
export const RowMenu = ({ children, label }: {
  /** Whose actions they are, for screen readers. */
  readonly label: string
  readonly children: ComponentChildren
}) => (
  <details class="row-menu">
    <summary class="button compact" aria-label={label}>
      <span aria-hidden="true">⋯</span>
    </summary>
    <ul>{children}</ul>
  </details>
)
