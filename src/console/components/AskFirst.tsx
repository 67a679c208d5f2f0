import type { ComponentChildren } from "preact"
import { useContext } from "preact/hooks"
import { t } from "../../languages/Language.ts"
import type { Crumb } from "../Trail.ts"
import { Card } from "./Card.tsx"
import { Form, Submit } from "./Form.tsx"
import { PageHead } from "./PageHead.tsx"
import { PlaceContext } from "./PagePlace.ts"

/** The card of a confirmation. Its button posts to the address of the page. */
const Confirmation = ({ back, button, children }: {
  readonly back: string
  readonly button: string
  readonly children: ComponentChildren
}) => (
  <Card stacked kind="danger">
    {children}
    <Form action={useContext(PlaceContext)?.path ?? ""} isFilled={false}>
      <div class="buttons">
        <Submit kind="danger">{button}</Submit>
        <a class="button" href={back}>{t`Go back`}</a>
      </div>
    </Form>
  </Card>
)

/** The page that asks before an action that cannot be undone, at the address that the action is posted to. */
export const askFirst = ({ back, button, question, text, title = question }: {
  /** The heading of the page. */
  readonly question: string
  /** The title of the document. Default: the question. */
  readonly title?: string
  readonly back: Crumb
  readonly button: string
  /** Explains the consequences of the action. */
  readonly text: ComponentChildren
}) => ({
  title,
  body: (
    <>
      <PageHead title={question} back={back} />
      <Confirmation back={back.href} button={button}>{text}</Confirmation>
    </>
  ),
})
