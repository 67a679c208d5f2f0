import type { ComponentChildren } from "preact"
import { useContext } from "preact/hooks"
import { openedField, openedText } from "../OpenedForm.ts"
import { accountField } from "./Kept.ts"
import { PlaceContext } from "./PagePlace.ts"

/**
 * The fields with the token and the account of the session. Absent on pages before sign-in. The account is absent if the
 * form has nothing to type (`isFilled`).
 */
export const SessionFields = ({ isFilled = true }: { readonly isFilled?: boolean }) => {
  const place = useContext(PlaceContext)
  return place === undefined ? null : (
    <>
      <input type="hidden" name="_csrf" value={place.csrf} />
      {isFilled && <input type="hidden" name={accountField} value={place.account} />}
    </>
  )
}

/** A form that posts, with the token that shows it came from a page of ours. */
export const Form = ({ action, children, inline = false, isFilled = true, opened, submit }: {
  readonly action: string
  /** The fields that a form of settings shows (see `changedMembers`). */
  readonly opened?: Readonly<Record<string, string>>
  /** Whether somebody fills in the form, so that its fields are kept if the session has ended. */
  readonly isFilled?: boolean
  /** The label of the button at the end of the form. Default: the children have the buttons. */
  readonly submit?: string
  readonly inline?: boolean
  readonly children: ComponentChildren
}) => (
  <form method="post" action={action} class={inline ? "inline-form" : "fields"} noValidate={!inline}>
    <SessionFields isFilled={isFilled} />
    {opened !== undefined && <input type="hidden" name={openedField} value={openedText(opened)} />}
    {children}
    {submit !== undefined && (
      <div>
        <Submit>{submit}</Submit>
      </div>
    )}
  </form>
)

/** Looks of a button that sends a form. */
type SubmitKind = "primary" | "plain" | "danger" | "compact" | "compact danger"

/** The button that sends a form. */
export const Submit = ({ children, kind = "primary", label, wide = false }: {
  readonly kind?: SubmitKind
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

/** A button that posts to `to` at once, with `fields` that nobody fills in. */
export const PostButton = ({ children, fields = {}, kind = "plain", label, to }: {
  readonly to: string
  readonly fields?: Readonly<Record<string, string>>
  readonly kind?: SubmitKind
  /** For screen readers, where several buttons read alike. */
  readonly label?: string
  readonly children: ComponentChildren
}) => (
  <Form action={to} inline isFilled={false}>
    {Object.entries(fields).map(([name, value]) => <input key={name} type="hidden" name={name} value={value} />)}
    <Submit kind={kind} {...(label === undefined ? {} : { label })}>{children}</Submit>
  </Form>
)
