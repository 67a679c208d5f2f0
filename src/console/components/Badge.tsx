import type { ComponentChildren } from "preact"

/** A state in a word; its colour says nothing that the word does not. */
export const Badge = ({ children, kind = "plain" }: {
  readonly kind?: "plain" | "good" | "warn" | "bad" | "accent"
  readonly children: ComponentChildren
}) => <span class={`badge ${kind}`}>{children}</span>
