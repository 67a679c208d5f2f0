import type { ComponentChildren } from "preact"
import { Mark } from "./Icon.tsx"

/** A wide page for people who are not signed in: it leads nowhere. `name`: the organization that it is of. */
export const Shared = ({ children, date, name }: {
  readonly name: string
  readonly date: string
  readonly children: ComponentChildren
}) => (
  <div class="shared">
    <header>
      <span class="brand">
        <span class="monogram" aria-hidden="true">{[...name][0]?.toUpperCase()}</span>
        <bdi>{name}</bdi>
      </span>
      <span class="muted">
        {date} · <Mark /> Parlance
      </span>
    </header>
    <main id="main">{children}</main>
  </div>
)
