/** @jsxImportSource preact */
import type { ComponentChildren } from "preact"

/** The head of a page: its title, a sentence on what it is for, and what can be done. */
export const PageHead = ({ actions, back, lead, title }: {
  readonly title: string
  readonly lead?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly back?: { readonly href: string; readonly label: string }
}) => (
  <div class="page-head">
    <div>
      {back === undefined ? null : (
        <p class="crumbs">
          <a href={back.href}>← {back.label}</a>
        </p>
      )}
      <h1>{title}</h1>
      {lead === undefined ? null : <p class="lead">{lead}</p>}
    </div>
    {actions === undefined ? null : <div class="buttons">{actions}</div>}
  </div>
)
