import type { ComponentChildren } from "preact"
import type { Fault } from "../../domain/Errors.ts"
import { FieldFaults, fieldOf } from "./Note.tsx"

/** Several lines of text with their label, a hint and their faults. `code`: in a monospaced font. */
export const TextAreaField = ({ code = false, faults = [], hint, label, name, required = true, rows = 6, value = "" }: {
  /** Also the element's id. */
  readonly name: string
  readonly label: string
  readonly hint?: ComponentChildren
  readonly faults?: ReadonlyArray<Fault>
  readonly value?: string
  readonly required?: boolean
  readonly rows?: number
  readonly code?: boolean
}) => {
  const own = faults.filter((fault) => fieldOf(fault) === name)
  const ids = [...(hint === undefined ? [] : [`${name}-hint`]), ...(own.length === 0 ? [] : [`${name}-error`])]
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {hint !== undefined && <p class="hint" id={`${name}-hint`}>{hint}</p>}
      <textarea
        id={name}
        name={name}
        rows={rows}
        required={required}
        spellcheck={!code}
        class={code ? "code" : undefined}
        {...(ids.length === 0 ? {} : { "aria-describedby": ids.join(" ") })}
        {...(own.length === 0 ? {} : { "aria-invalid": "true" as const })}
      >
        {/* A line break at the start of a text area is not part of its text. */}
        {`\n${value}`}
      </textarea>
      <FieldFaults faults={own} label={label} name={name} />
    </div>
  )
}
