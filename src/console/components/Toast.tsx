import type { ComponentChildren } from "preact"
import { t } from "../../languages/Language.ts"

/**
 * The message after an action that succeeded. It stays until it is closed: by the link, or by Escape with the script of
 * the page. Clicks outside the link reach the page behind the message.
 */
export const Toast = ({ children, close }: {
  /** The page without the message. */
  readonly close: string
  readonly children: ComponentChildren
}) => (
  <div class="toast" data-toast>
    <p role="status">{children}</p>
    <a class="toast-close" href={close} aria-label={t`Close this message`}>×</a>
  </div>
)
