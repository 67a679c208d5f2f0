import type { ComponentChildren } from "preact"
import { t } from "../../languages/Language.ts"
import { Card } from "./Card.tsx"

/** A text to copy, such as a key or a link. */
interface Copied {
  /** The element's id. */
  readonly id: string
  readonly label: string
  readonly value: string
  /** Explains the use of the text. */
  readonly hint: ComponentChildren
}

/** A text in a field with a button that copies it. `selected`: the script of the page selects it at once. */
export const CopyField = ({ hint, id, label, selected = false, value }: Copied & { readonly selected?: boolean }) => {
  const attributes: object = selected ? { "data-select": true } : {}
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="secret">
        <input
          type="text"
          id={id}
          readonly
          value={value}
          spellcheck={false}
          aria-describedby={`${id}-hint`}
          {...attributes}
        />
        <button type="button" class="button primary" data-copy={id} hidden>{t`Copy`}</button>
      </div>
      <p class="hint" id={`${id}-hint`}>
        {hint} <span role="status" id={`${id}-status`}></span>
      </p>
    </div>
  )
}

/** A secret that only the answer to the action shows that made it. `done`: the page that follows. */
export const SecretOnce = ({ done, ...copied }: Copied & { readonly done?: string }) => (
  <Card>
    {done === undefined ? <CopyField {...copied} /> : (
      <div class="stack">
        <CopyField {...copied} />
        <div>
          <a class="button" href={done}>{t`I have copied it`}</a>
        </div>
      </div>
    )}
  </Card>
)
