import type { ComponentChildren } from "preact"
import { Form } from "./Form.tsx"

/** The actions of a row behind one button. Each child is a `MenuLink` or a `MenuPost`. */
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

/** An action of a menu that leads to a page. */
export const MenuLink = ({ children, danger = false, href }: {
  readonly href: string
  readonly danger?: boolean
  readonly children: string
}) => (
  <li>
    <a href={href} {...(danger ? { class: "danger" } : {})}>{children}</a>
  </li>
)

/** An action of a menu that posts to `to` at once. */
export const MenuPost = ({ children, fields = {}, to }: {
  readonly to: string
  readonly fields?: Readonly<Record<string, string>>
  readonly children: string
}) => (
  <li>
    <Form action={to} inline isFilled={false}>
      {Object.entries(fields).map(([name, value]) => <input key={name} type="hidden" name={name} value={value} />)}
      <button type="submit">{children}</button>
    </Form>
  </li>
)
