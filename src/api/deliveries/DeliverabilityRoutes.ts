import { Effect } from "effect"
import { note } from "../../accounts/Audit.ts"
import { DkimKeys, type DkimKeyView } from "../../delivery/dkim/DkimKeys.ts"
import { TestMessages } from "../../delivery/receivers/TestMessages.ts"
import { retryLater } from "../admission/RetryAfter.ts"
import { RecipientSuppressed, TooManyTestMessages, Unprocessable } from "../Problems.ts"
import { managed } from "../http/Managed.ts"

const shown = ({ isSigning, ...key }: DkimKeyView) => ({ ...key, signing: isSigning })

/** Serves `DeliverabilityGroup`. */
export const layer = managed(
  "deliverability",
  Effect.gen(function* () {
    const keys = yield* DkimKeys
    const tests = yield* TestMessages

    return {
      listDkimKeys: ({ org, params }) =>
        Effect.map(keys.list(org, params.connection), (all) => ({ keys: all.map(shown) })),
      createDkimKey: ({ body, org, params }) => Effect.map(keys.add(org, params.connection, body), shown),
      updateDkimKey: ({ body, org, params }) =>
        keys.change(org, params.connection, params.selector, body).pipe(
          Effect.map(shown),
          Effect.catchTag("DkimKeyNotPublished", ({ message }) => Effect.fail(new Unprocessable({ detail: message }))),
        ),
      deleteDkimKey: ({ org, params }) => keys.remove(org, params.connection, params.selector),
      sendTestMessage: ({ body, org, params, request }) => {
        // The audit log omits the values of placeholders, which may be personal data.
        const { fields: _, ...noted } = body
        return Effect.andThen(note(noted), tests.send(org, params.connection, body)).pipe(
          Effect.catchTags({
            TestRecipientSuppressed: (refused) => Effect.fail(RecipientSuppressed.of(refused)),
            TooManyTestMessages: ({ message, retryAfterSeconds }) =>
              Effect.fail(retryLater(request, retryAfterSeconds, new TooManyTestMessages({ detail: message }))),
          }),
        )
      },
    }
  }),
  "after the body",
)
