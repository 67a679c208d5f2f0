import type { ComponentChildren } from "preact"
import { Mark } from "./Icon.tsx"

/** A wide page for people who are not signed in: it leads nowhere. `name`: the organization that it is of. */
export const Shared = ({ children, name }: { readonly name: string; readonly children: ComponentChildren }) => (
  <div class="shared">
    <header>
      <span class="brand">
        <Mark />Parlance
      </span>
      <span class="muted" dir="auto">{name}</span>
    </header>
    <main id="main">{children}</main>
  </div>
)
