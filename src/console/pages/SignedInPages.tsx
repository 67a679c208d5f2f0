/** @jsxImportSource preact */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { signedInPath } from "../components/KeptForm.tsx"
import { PageHead } from "../components/PageHead.tsx"
import { Console } from "../Routes.tsx"

/** The end of a sign-in that began in another tab, whose text waits there. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { page } = yield* Console
  yield* router.addAll([
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
}))
