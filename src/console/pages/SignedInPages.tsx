import { Effect } from "effect"
import { signedInPath } from "../components/KeptForm.tsx"
import { PageHead } from "../components/PageHead.tsx"
import { pages } from "../Pages.ts"

/** The end of a sign-in that began in another tab, whose text waits there. */
export const layer = pages(({ page }) => [
  page(signedInPath, "getSession", ({ session }) =>
    Effect.succeed({
      title: "You are signed in",
      body: (
        <>
          <PageHead
            title="You are signed in"
            lead={`As ${session.account.email}. Close this tab and go back to the one with your text.`}
          />
          <p>
            <a class="button" href="/console">Open the console</a>
          </p>
        </>
      ),
    })),
])
