import type { ComponentChildren } from "preact"
import { assets } from "../Assets.ts"
import { Form } from "./Form.tsx"

/** A part of a page that a script shows in browsers with passkeys, or with `off` hides there. */
export const PasskeyPart = ({ children, off = false }: {
  readonly off?: boolean
  readonly children: ComponentChildren
}) => <div data-passkeys={off ? "off" : "on"} hidden={!off}>{children}</div>

/** The script of the parts. A browser runs it once for each page. */
export const PasskeyScript = () => <script type="module" src={assets.passkeys}></script>

/**
 * A button that asks the browser for a passkey and sends it to `action`: a new one with `options`, or one to sign in
 * with. Its page needs `live` to fetch the options of a sign-in.
 */
export const PasskeyForm = ({ action, fields, kind = "wide", label, options }: {
  readonly action: string
  /** Fields that are sent with the response. */
  readonly fields: Readonly<Record<string, string | undefined>>
  readonly label: string
  /** Default: `wide`. */
  readonly kind?: "wide" | "primary wide" | "primary"
  readonly options?: object
}) => (
  <PasskeyPart>
    <Form action={action} isFilled={false}>
      {Object.entries(fields).map(([name, value]) =>
        value === undefined ? null : <input key={name} type="hidden" name={name} value={value} />
      )}
      <input type="hidden" name="response" />
      <div>
        <button
          type="button"
          class={`button ${kind}`}
          {...(options === undefined ? {} : { "data-options": JSON.stringify(options) })}
        >
          {label}
        </button>
      </div>
      <p class="hint" role="status"></p>
    </Form>
    <PasskeyScript />
  </PasskeyPart>
)
