import type { ComponentChildren } from "preact"

/** Links to the variants of a list, of which one is shown. */
export const Pills = ({ aria = "page", label, links }: {
  readonly label: string
  readonly links: ReadonlyArray<{
    readonly href: string
    readonly label: ComponentChildren
    readonly isCurrent: boolean
  }>
  /** `page`: each link leads to a page of its own. `true`: the links change a part of the page. */
  readonly aria?: "page" | "true"
}) => (
  <nav aria-label={label}>
    <ul class="pills">
      {links.map(({ href, isCurrent, label }) => (
        <li>
          <a href={href} {...(isCurrent ? { "aria-current": aria } : {})}>{label}</a>
        </li>
      ))}
    </ul>
  </nav>
)
