import type { ComponentChildren } from "preact"

/** The text of an empty list: what the list will contain, and the next step. */
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
