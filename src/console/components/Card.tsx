import type { ComponentChildren } from "preact"

/** A part of a page on its own ground. */
export const Card = ({ actions, children, id, kind = "plain", lead, stacked = false, title }: {
  /** The element that a link on the page leads to. */
  readonly id?: string
  readonly title?: string
  readonly lead?: ComponentChildren
  readonly actions?: ComponentChildren
  /** `flush`: the content, such as a table, reaches the edges. */
  readonly kind?: "plain" | "flush" | "danger"
  /** Whether the content is a stack of elements with a distance. */
  readonly stacked?: boolean
  readonly children?: ComponentChildren
}) => (
  <section
    {...(id === undefined ? {} : { id })}
    class={`card ${kind}`}
    {...(title === undefined ? {} : { "aria-label": title })}
  >
    {title !== undefined && (
      <header>
        <h2>{title}</h2>
        {actions !== undefined && <div class="buttons">{actions}</div>}
        {lead !== undefined && <p>{lead}</p>}
      </header>
    )}
    {stacked ? <div class="stack">{children}</div> : children}
  </section>
)
