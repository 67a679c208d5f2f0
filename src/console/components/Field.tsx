import type { ComponentChildren } from "preact"
import type { Fault } from "../../domain/Errors.ts"
import { secretsField } from "./Kept.ts"
import { FieldFaults, fieldOf } from "./Note.tsx"

interface Common {
  /** Also the element's id and the name of the member in the API. */
  readonly name: string
  readonly label: string
  readonly hint?: ComponentChildren
  readonly faults?: ReadonlyArray<Fault>
}

const describe = ({ faults = [], hint, name }: Common) => {
  const own = faults.filter((fault) => fieldOf(fault) === name)
  const ids = [...(hint === undefined ? [] : [`${name}-hint`]), ...(own.length === 0 ? [] : [`${name}-error`])]
  return {
    own,
    aria: {
      ...(ids.length === 0 ? {} : { "aria-describedby": ids.join(" ") }),
      ...(own.length === 0 ? {} : { "aria-invalid": "true" as const }),
    },
  }
}

const Around = ({ children, own, ...common }: Common & {
  readonly own: ReadonlyArray<Fault>
  readonly children: ComponentChildren
}) => (
  <div class="field">
    <label for={common.name}>{common.label}</label>
    {common.hint !== undefined && <p class="hint" id={`${common.name}-hint`}>{common.hint}</p>}
    {children}
    <FieldFaults faults={own} label={common.label} name={common.name} />
  </div>
)

/** A line of text with its label, a hint and its faults. */
export const Field = ({ autocomplete, list, placeholder, required = true, type = "text", value, ...common }: Common & {
  readonly type?: "text" | "email" | "password" | "number" | "time" | "datetime-local"
  readonly value?: string
  readonly required?: boolean
  readonly placeholder?: string
  readonly autocomplete?: string
  readonly list?: ReadonlyArray<string>
}) => {
  const { aria, own } = describe(common)
  // The types of Preact want one role per type of input; these are all text boxes.
  const attributes: object = {
    id: common.name,
    name: common.name,
    type,
    required,
    autocomplete: autocomplete ?? "off",
    ...(value === undefined ? {} : { value }),
    ...(placeholder === undefined ? {} : { placeholder }),
    ...(type === "number" ? { step: "any" } : {}),
    ...(list === undefined ? {} : { list: `${common.name}-list` }),
    ...aria,
  }
  return (
    <Around {...common} own={own}>
      <input {...attributes} />
      {(type === "password" || autocomplete === "one-time-code") && (
        <input type="hidden" name={secretsField} value={common.name} />
      )}
      {list !== undefined && <datalist id={`${common.name}-list`}>{list.map((one) => <option value={one} />)}
      </datalist>}
    </Around>
  )
}

/** A list to choose one value from. */
export const SelectField = ({ isVerbatim = false, options, value, ...common }: Common & {
  readonly value?: string
  /** Whether labels that equal their values are identifiers, which nobody translates. Default: false. */
  readonly isVerbatim?: boolean
  readonly options: ReadonlyArray<readonly [value: string, label: string]>
}) => {
  const { aria, own } = describe(common)
  const verbatim: object = { translate: "no" }
  return (
    <Around {...common} own={own}>
      <select id={common.name} name={common.name} {...aria}>
        {options.map(([one, label]) => (
          <option value={one} selected={one === value} {...(isVerbatim && one === label ? verbatim : {})}>
            {label}
          </option>
        ))}
      </select>
    </Around>
  )
}

/** Checkboxes or radio buttons, each with an explanation. */
export const Choices = ({ options, pictures, short = false, type, values, ...common }: Common & {
  readonly type: "checkbox" | "radio"
  readonly values: ReadonlyArray<string>
  readonly options: ReadonlyArray<readonly [value: string, label: string, hint?: string]>
  /** Pictures by value, which are above the labels. */
  readonly pictures?: ReadonlyMap<string, ComponentChildren>
  /** Whether the choices are in one row, for short labels. */
  readonly short?: boolean
}) => {
  const { aria, own } = describe(common)
  return (
    <fieldset
      id={common.name}
      {...(aria["aria-describedby"] === undefined ? {} : { "aria-describedby": aria["aria-describedby"] })}
    >
      <legend>{common.label}</legend>
      {common.hint !== undefined && <p class="hint" id={`${common.name}-hint`}>{common.hint}</p>}
      <div class={`choices${short ? " short" : ""}${pictures === undefined ? "" : " pictured"}`}>
        {options.map(([value, label, hint]) => (
          <div class="choice">
            <input
              type={type}
              id={`${common.name}-${value}`}
              name={common.name}
              value={value}
              checked={values.includes(value)}
              {...(hint === undefined ? {} : { "aria-describedby": `${common.name}-${value}-hint` })}
            />
            {pictures?.get(value)}
            <label for={`${common.name}-${value}`}>{label}</label>
            {hint !== undefined && <span id={`${common.name}-${value}-hint`}>{hint}</span>}
          </div>
        ))}
      </div>
      <FieldFaults faults={own} label={common.label} name={common.name} />
    </fieldset>
  )
}
