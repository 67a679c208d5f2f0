/** @jsxImportSource preact */
import type { ComponentChildren } from "preact"

/** A form that posts, with the token that shows it came from a page of ours. */
export const Form = ({ action, children, csrf, inline = false, submit }: {
  readonly action: string
  /** The label of the button at the end of the form. Default: the children have the buttons. */
  readonly submit?: string
  /** Absent on pages before sign-in. */
  readonly csrf?: string
  readonly inline?: boolean
  readonly children: ComponentChildren
}) => (
  <form method="post" action={action} class={inline ? "inline-form" : "fields"} noValidate={!inline}>
    {csrf === undefined ? null : <input type="hidden" name="_csrf" value={csrf} />}
    {children}
    {submit === undefined ? null : (
      <div>
        <Submit>{submit}</Submit>
      </div>
    )}
  </form>
)

/** The button that sends a form. */
export const Submit = ({ children, kind = "primary", label, wide = false }: {
  readonly kind?: "primary" | "plain" | "danger" | "compact" | "compact danger"
  readonly wide?: boolean
  /** For screen readers, where several buttons read alike. */
  readonly label?: string
  readonly children: ComponentChildren
}) => (
  <button
    type="submit"
    class={`button ${kind === "danger" ? "danger primary" : kind}${wide ? " wide" : ""}`}
    {...(label === undefined ? {} : { "aria-label": label })}
  >
    {children}
  </button>
)
