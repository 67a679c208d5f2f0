import type { ComponentChildren } from "preact"

/** A part of a page on its own ground. `flush`: its content, a table mostly, reaches the edges. */
export const Card = ({ actions, children, kind = "plain", lead, title }: {
  readonly title?: string
  readonly lead?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly kind?: "plain" | "flush" | "danger"
  readonly children?: ComponentChildren
}) => (
  <section class={`card ${kind}`} {...(title === undefined ? {} : { "aria-label": title })}>
    {title !== undefined && (
      <header>
        <h2>{title}</h2>
        {actions !== undefined && <div class="buttons">{actions}</div>}
        {lead !== undefined && <p>{lead}</p>}
      </header>
    )}
    {children}
  </section>
)
