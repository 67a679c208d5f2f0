import type { ComponentChildren } from "preact"
import { Mark } from "./Icon.tsx"

/** A page without navigation: sign-in, links, errors of visitors. */
export const Alone = ({ children }: { readonly children: ComponentChildren }) => (
  <div class="alone">
    <header>
      <a class="brand" href="/console">
        <Mark />Parlance
      </a>
    </header>
    <main id="main">{children}</main>
  </div>
)
