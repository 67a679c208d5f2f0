import type { ComponentChildren } from "preact"

/** Where there is nothing yet: what would be here, and the next step. */
export const Empty = ({ action, children, title }: {
  readonly title: string
  readonly children: ComponentChildren
  readonly action?: ComponentChildren
}) => (
  <div class="empty">
    <h2>{title}</h2>
    <p>{children}</p>
    {action}
  </div>
)
