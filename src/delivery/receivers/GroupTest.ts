import { Effect } from "effect"
import type { Sources } from "../../checking/Checks.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import type { TestMessageRequest, TestMessages } from "./TestMessages.ts"

/** Test messages of one test that are sent at once. Each has a session of its own with the mail server. */
const atOnce = 4

/** The result for one recipient. */
export interface TestSent {
  readonly to: string
  readonly ok: boolean
  readonly detail: string
  /** Null where no message was sent. */
  readonly messageId: string | null
}

/**
 * Sends a test message to each recipient. One who is suppressed, or beyond the limit of test messages, has the reason as
 * the result. Fails as `TestMessages.send` does for what all recipients have in common.
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
