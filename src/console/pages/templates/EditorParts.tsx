import type { ComponentChildren } from "preact"
import { copyPlatforms, platformNames } from "../../../domain/CopyPlatform.ts"
import type { Fault } from "../../../domain/Errors.ts"
import { t, translated } from "../../../languages/Language.ts"
import { layouts } from "../../../templates/Layouts.ts"
import { Choices } from "../../components/Field.tsx"
import { faultText } from "../../RetoldTexts.ts"
import { EmptyPicture, LayoutPicture } from "./LayoutPicture.tsx"

/** The faults at the control `id`. */
const own = (faults: ReadonlyArray<Fault>, id: string) => faults.filter(({ pointer }) => pointer === `/${id}`)

/** Whether something is wrong at the control `id`. */
export const isAtFault = (faults: ReadonlyArray<Fault>, id: string): boolean => own(faults, id).length > 0

/** The attributes that connect a control to its faults. */
export const tied = (faults: ReadonlyArray<Fault>, id: string, hint?: string) => ({
  id,
  name: id,
  "aria-describedby": [...(hint === undefined ? [] : [hint]), `${id}-error`].join(" "),
  ...(own(faults, id).length === 0 ? {} : { "aria-invalid": "true" as const }),
})

/** The faults of a control. A script fills this place while the reader types. */
export const Wrong = ({ excerptOf, faults, id }: {
  readonly faults: ReadonlyArray<Fault>
  readonly id: string
  readonly excerptOf?: string
}) => {
  const [first] = own(faults, id)
  const excerpt = first === undefined || excerptOf === undefined ? undefined : excerptAt(excerptOf, first.detail)
  return (
    <div class="wrong" id={`${id}-error`} data-error-of={id}>
      {own(faults, id).map(({ detail }) => <p class="error">{faultText(detail)}</p>)}
      {excerpt !== undefined && <pre class="excerpt" aria-hidden="true">{excerpt}</pre>}
    </div>
  )
}

/** The line that a fault names, with a mark below its column. Undefined if the fault names no line. */
const excerptAt = (source: string, detail: string): string | undefined => {
  const [, line, column] = /^line (\d+), column (\d+):/.exec(detail) ?? []
  const text = source.split("\n")[Number(line) - 1]
  if (text === undefined) return undefined
  const at = Number(column) - 1
  // A long line is cut around the column.
  const start = Math.max(0, at - 50)
  const shown = text.slice(start, start + 100)
  return `${start > 0 ? "…" : ""}${shown}\n${" ".repeat(at - start + (start > 0 ? 1 : 0))}^`
}

/** A control with its label, its hint and its faults. */
export const Labelled = ({ children, excerptOf, faults, hint, id, isTitled = false, label }: {
  readonly id: string
  readonly label: string
  readonly hint?: ComponentChildren
  readonly faults: ReadonlyArray<Fault>
  readonly excerptOf?: string
  /** Whether a title above shows the label. Default: false. */
  readonly isTitled?: boolean
  readonly children: ComponentChildren
}) => (
  <div class="field">
    <label for={id} {...(isTitled ? { class: "visually-hidden" } : {})}>{label}</label>
    {hint !== undefined && <p class="hint" id={`${id}-hint`}>{hint}</p>}
    {children}
    <Wrong faults={faults} id={id} {...(excerptOf === undefined ? {} : { excerptOf })} />
  </div>
)

/** Settings that most variants leave as they are. */
export const Advanced = ({ children, isOpen }: { readonly isOpen: boolean; readonly children: ComponentChildren }) => (
  <details class="advanced" open={isOpen}>
    <summary>{t`Advanced settings`}</summary>
    <div class="stack">{children}</div>
  </details>
)

/** The keys of the editor. Shown once its script runs. */
export const EditorKeys = () => (
  <p class="small muted editor-keys" id="editor-keys" hidden>
    {t`${<kbd>{t`Ctrl`}</kbd>}+${<kbd>{t`Space`}</kbd>} suggests fields, filters and tags. ${<kbd>{t`Ctrl`}</kbd>}+${(
      <kbd>F</kbd>
    )} searches. ${<kbd>{t`Ctrl`}</kbd>}+${<kbd>S</kbd>} saves. ${<kbd>{t`Tab`}</kbd>} leaves
      the text; ${<kbd>{t`Ctrl`}</kbd>}+${<kbd>]</kbd>} indents.`}
  </p>
)

/** The title of a row. Screen readers are given its legend. */
export const RowTitle = ({ children, remove }: {
  readonly children: ComponentChildren
  readonly remove: ComponentChildren
}) => (
  <div class="row-title">
    <span aria-hidden="true">{children}</span>
    {remove}
  </div>
)

/** The choice of a layout, by its picture. `chosen` is an id, or empty for none. `others` come first. */
export const LayoutChoices = ({ chosen, label, others = [] }: {
  readonly chosen: string
  readonly label: string
  readonly others?: ReadonlyArray<readonly [value: string, label: string, hint: string]>
}) => (
  <Choices
    name="layout"
    label={label}
    type="radio"
    values={[chosen]}
    options={[
      ...others,
      ...layouts.map(({ description, id, name }) => [id, translated(name), translated(description)] as const),
    ]}
    pictures={new Map([
      ...others.map(([value]) => [value, <EmptyPicture />] as const),
      ...layouts.map((layout) => [layout.id, <LayoutPicture layout={layout} />] as const),
    ])}
  />
)

/** The choice of a layout, and the button that fills the form with it. */
export const LayoutChoice = ({ again }: { readonly again: string }) => (
  <div class="stack tight">
    <LayoutChoices chosen={layouts[0]!.id} label={t`Begin with a layout`} />
    <p class="hint">{t`A finished message, whose texts and blocks you change without code.`}</p>
    <div>
      <button type="submit" class="button" name="do" value="layout" formaction={again}>{t`Use this layout`}</button>
    </div>
  </div>
)

/** The choice of a platform, and the button that converts the texts of the form. */
export const PasteFrom = ({ again }: { readonly again: string }) => (
  <details class="advanced">
    <summary>{t`Paste from another platform`}</summary>
    <div class="field">
      <label for="convert_from">{t`Platform`}</label>
      <p class="hint" id="convert_from-hint">
        {t`Paste its copy into the variables above. The form then shows the Liquid next to the original.`}
      </p>
      <select id="convert_from" name="convert_from" aria-describedby="convert_from-hint">
        {platformNames.map((name) => <option value={name}>{translated(copyPlatforms[name])}</option>)}
      </select>
    </div>
    <button type="submit" class="button" name="do" value="convert" formaction={again}>{t`Convert to Liquid`}</button>
  </details>
)
