import type { ComponentChildren } from "preact"
import { t } from "../../languages/Language.ts"
import type { UndoForm } from "../Undo.ts"
import { Form, Submit } from "./Form.tsx"

/**
 * The message after an action that succeeded. It stays until it is closed: by the link, or by Escape with the script of
 * the page. Clicks outside the link and the button reach the page behind the message.
 */
export const Toast = ({ children, close, undo }: {
  /** The page without the message. */
  readonly close: string
  /** The reverse of the action. */
  readonly undo?: UndoForm | undefined
  readonly children: ComponentChildren
}) => (
  <div class="toast" data-toast>
    <p role="status">{children}</p>
    {undo !== undefined && (
      <Form action={undo.to} inline isFilled={false}>
        {undo.fields.map(([name, value]) => <input type="hidden" name={name} value={value} />)}
        <Submit kind="compact">{t`Undo`}</Submit>
      </Form>
    )}
    <a class="toast-close" href={close} aria-label={t`Close this message`}>×</a>
  </div>
)
