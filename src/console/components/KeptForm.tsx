import { t } from "../../languages/Language.ts"
import { Card } from "./Card.tsx"
import { Form, Submit } from "./Form.tsx"
import { accountField, type KeptFields } from "./Kept.ts"

/** The page that a sign-in in another tab leads to. */
export const signedInPath = "/console/signed-in"

/**
 * The values of a field. `SentForms` joins the values of a name with a line feed. In typed lines, browsers send a carriage
 * return before each line feed.
 */
const valuesIn = (text: string): ReadonlyArray<string> => text.split(/(?<!\r)\n/)

/**
 * A form that was sent without a session, with its fields kept in the page, so that it can be sent again after signing in.
 * The service stores nothing of the form.
 */
export const KeptForm = ({ action, kept: { fields, isPartial }, signedInAs }: {
  readonly action: string
  readonly kept: KeptFields
  /** The account of the session, if the form was written by another account. */
  readonly signedInAs?: string
}) => {
  const writer = fields[accountField] ?? ""
  return (
    <Card>
      <header>
        <h1>{signedInAs === undefined ? t`Sign in again` : t`Another account is signed in`}</h1>
      </header>
      <div class="stack">
        <p>
          {signedInAs === undefined
            ? t`Your session has ended. Nothing has been saved. Your text is kept in this page.`
            : t`You are signed in as ${signedInAs}, and this text was written as ${writer}. It is kept in this
              page.`}
        </p>
        {isPartial && <p>{t`Passwords, secrets and files are not kept: enter them again.`}</p>}
        <ol class="steps">
          <li>
            {signedInAs !== undefined && <>{t`Sign out there first.`}{" "}</>}
            <a href={`/console/sign-in?next=${encodeURIComponent(signedInPath)}`} target="_blank" rel="noopener">
              {writer === "" ? t`Sign in in a new tab` : t`Sign in as ${writer} in a new tab`}
            </a>
          </li>
          <li>{t`Come back to this tab and continue. You see your text before anything is saved.`}</li>
        </ol>
        <Form action={action}>
          {Object.entries(fields).flatMap(([name, value]) =>
            valuesIn(value).map((one) => <input type="hidden" name={name} value={one} />)
          )}
          <Submit wide>{t`Continue with your text`}</Submit>
        </Form>
      </div>
    </Card>
  )
}
