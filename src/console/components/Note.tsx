import type { ComponentChildren } from "preact"
import type { Fault } from "../../domain/Errors.ts"
import { t, translated } from "../../languages/Language.ts"
import { faultText } from "../RetoldTexts.ts"

/** A notice on a page. */
export const Note = ({ children, kind = "plain", live = false }: {
  readonly kind?: "plain" | "good" | "warn" | "bad"
  readonly live?: boolean
  readonly children: ComponentChildren
}) => <div class={`note ${kind}`} {...(live ? { role: "status" } : {})}>{children}</div>

/** The name of the field that a fault belongs to: the first member of its pointer. */
export const fieldOf = ({ pointer }: Fault): string => pointer.split("/")[1] ?? ""

/** The faults of the field `name`, after its label. */
export const FieldFaults = ({ faults, label, name }: {
  readonly faults: ReadonlyArray<Fault>
  readonly label: string
  readonly name: string
}) =>
  faults.length === 0
    ? null
    : <p class="error" id={`${name}-error`}>{label}: {faults.map(({ detail }) => faultText(detail)).join("; ")}</p>

/** The faults of a form above it, each a link to its field. The browser moves the focus here. */
export const ErrorSummary = ({ faults, labels = {} }: {
  readonly faults: ReadonlyArray<Fault>
  readonly labels?: Readonly<Record<string, string>>
}) =>
  faults.length === 0 ? null : (
    <div class="note bad" role="alert" tabIndex={-1} data-focus>
      <h2>
        {faults.length === 1 ? t`One thing needs to be corrected` : t`${faults.length} things need to be corrected`}
      </h2>
      <ul>
        {faults.map((fault) => {
          const field = fieldOf(fault)
          const label = labels[field]
          return (
            <li>
              {label === undefined
                ? faultText(fault.detail)
                : <a href={`#${field}`}>{translated(label)}: {faultText(fault.detail)}</a>}
            </li>
          )
        })}
      </ul>
    </div>
  )
