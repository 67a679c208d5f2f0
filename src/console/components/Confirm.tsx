/** @jsxImportSource preact */
import type { ComponentChildren } from "preact"
import { Card } from "./Card.tsx"
import { Form, Submit } from "./Form.tsx"

/** Asks before something that cannot be undone; says what will happen. */
export const Confirm = ({ action, back, button, children, csrf }: {
  readonly action: string
  readonly csrf: string
  readonly back: string
  readonly button: string
  readonly children: ComponentChildren
}) => (
  <Card kind="danger">
    <div class="stack">
      {children}
      <Form action={action} csrf={csrf}>
        <div class="buttons">
          <Submit kind="danger">{button}</Submit>
          <a class="button" href={back}>Go back</a>
        </div>
      </Form>
    </div>
  </Card>
)
