import type { ComponentChildren } from "preact"

/** A part of a page that is closed at first. `hint`: its content in a few words. */
export const Fold = ({ children, hint, title }: {
  readonly title: string
  readonly hint?: string
  readonly children: ComponentChildren
}) => (
  <details class="fold">
    <summary>
      {title}
      {hint !== undefined && <span class="hint">{hint}</span>}
    </summary>
    {children}
  </details>
)
