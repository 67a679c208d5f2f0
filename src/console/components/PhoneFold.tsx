import type { ComponentChildren } from "preact"

/** A part of a page that narrow screens close at first. Wide screens and paper always show it. */
export const PhoneFold = ({ children, title }: { readonly title: string; readonly children: ComponentChildren }) => (
  <details class="phone-fold">
    <summary>{title}</summary>
    {children}
  </details>
)
