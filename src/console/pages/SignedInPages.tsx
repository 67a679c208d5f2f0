import { Effect } from "effect"
import { t } from "../../languages/Language.ts"
import { signedInPath } from "../components/KeptForm.tsx"
import { pages } from "../Pages.ts"
import { view } from "../View.tsx"

/** The end of a sign-in that began in another tab, whose text waits there. */
export const layer = pages(({ page }) => [
  page(signedInPath, "getSession", ({ session }) =>
    Effect.succeed(view(
      {
        title: t`You are signed in`,
        lead: t`As ${session.account.email}. Close this tab and go back to the one with your text.`,
      },
      <p>
        <a class="button" href="/console">{t`Open the console`}</a>
      </p>,
    ))),
])
