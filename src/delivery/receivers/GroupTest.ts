import { Effect } from "effect"
import type { Sources } from "../../checking/Checks.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import type { TestMessageRequest, TestMessages } from "./TestMessages.ts"

/** Number of concurrent test messages. Each uses its own session with the mail server. */
const atOnce = 4

/** The result for one recipient. */
export interface TestSent {
  readonly to: string
  readonly ok: boolean
  readonly detail: string
  /** Null if no message was sent. */
  readonly messageId: string | null
}

/**
 * Sends a test message to each recipient. If a recipient is suppressed or the limit of test messages is reached, the
 * recipient's result states that reason. Fails with the errors of `TestMessages.send` that concern all recipients.
 */
export const sendToEach = (
  tests: TestMessages["Service"],
  org: OrgSlug,
  connection: string,
  recipients: ReadonlyArray<string>,
  ask: Omit<TestMessageRequest, "to">,
  draft?: Sources,
) => {
  const failed = (detail: string) => Effect.succeed({ ok: false, detail, messageId: null })
  return Effect.forEach(recipients, (to) =>
    tests.send(org, connection, { ...ask, to }, draft).pipe(
      Effect.catchTags({
        TestRecipientSuppressed: ({ message }) => failed(message),
        TooManyTestMessages: ({ message }) => failed(message),
      }),
      Effect.map(({ detail, messageId, ok }): TestSent => ({ to, ok, detail, messageId })),
    ), { concurrency: atOnce })
}
