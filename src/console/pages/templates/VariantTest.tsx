/** @jsxImportSource preact */
import { Effect, Result } from "effect"
import { note } from "../../../accounts/Audit.ts"
import type { Memberships } from "../../../accounts/Memberships.ts"
import type { Connections } from "../../../delivery/Connections.ts"
import type { TestMessages } from "../../../delivery/receivers/TestMessages.ts"
import { type Fault, InvalidInput } from "../../../domain/Errors.ts"
import { validateAddress } from "../../../domain/Email.ts"
import { Note } from "../../components/Note.tsx"
import type { Visit } from "../../Routes.tsx"
import { type Draft, sourcesOf } from "../../../templates/VariantForm.ts"
import { readSample, type Sample } from "./Draft.ts"
import { Labelled, tied } from "./EditorParts.tsx"

// A test message of the text in the editor, saved or not.

/** Services that send it. */
export interface TestServices {
  readonly connections: Connections["Service"]
  readonly memberships: Memberships["Service"]
  readonly tests: TestMessages["Service"]
}

/** Most recipients of one test. */
const maxRecipients = 5

/** The result for one recipient. */
export interface TestSent {
  readonly to: string
  readonly ok: boolean
  readonly detail: string
}

/** Distinct addresses in a text, separated by commas, semicolons or spaces. */
export const recipientsOf = (text: string): ReadonlyArray<string> => [
  ...new Set(text.split(/[\s,;]+/).filter((address) => address !== "")),
]

/** Faults of the recipients. `members` are lowercase addresses; undefined: any address may be used. */
export const recipientFaults = (
  recipients: ReadonlyArray<string>,
  members: ReadonlySet<string> | undefined,
): ReadonlyArray<string> => {
  if (recipients.length === 0) return ["is missing: enter an e-mail address"]
  if (recipients.length > maxRecipients) return [`must be ${maxRecipients} addresses at most`]
  return recipients.flatMap((address) => {
    const fault = validateAddress(address)
    if (fault !== undefined) return [`${address} ${fault}`]
    return members === undefined || members.has(address.toLowerCase())
      ? []
      : [`${address} is no member of the organization. Only admins send tests to other addresses`]
  })
}

/** Sends the draft to each recipient. Fails with `InvalidInput` when nothing can be sent to anybody. */
export const sendTest = Effect.fnUntraced(function* (
  services: TestServices,
  visit: Visit,
  template: string,
  draft: Draft,
  sample: Sample,
  to: string,
) {
  const recipients = recipientsOf(to)
  // The sample fields may be about a person.
  yield* note({ to: recipients })
  const members = visit.can("sendTestMessage") ? undefined : new Set(
    (yield* services.memberships.list(visit.org.slug)).map(({ email }) => email.toLowerCase()),
  )
  const active = services.connections.active(visit.org.slug)
  const given = readSample(sample)
  const faults: ReadonlyArray<Fault> = [
    ...recipientFaults(recipients, members).map((detail) => ({ pointer: "/test_to", detail })),
    ...(active === undefined
      ? [{ pointer: "/test_to", detail: "needs a connection: no enabled connection can send it" }]
      : []),
    ...(Result.isFailure(given) ? given.failure : []),
  ]
  if (active === undefined || Result.isFailure(given) || faults.length > 0) return yield* new InvalidInput({ faults })
  const { fields } = given.success
  const failed = (detail: string) => Effect.succeed({ ok: false, detail })
  return yield* Effect.forEach(recipients, (address) =>
    services.tests.send(
      visit.org.slug,
      active.name,
      { to: address, template_id: template, ...(draft.id === "" ? {} : { copy_id: draft.id }), fields },
      sourcesOf(draft),
    ).pipe(
      Effect.catchTags({
        TestRecipientSuppressed: ({ message }) => failed(message),
        TooManyTestMessages: ({ message }) => failed(message),
        InvalidInput: ({ faults }) => failed(faults.map(({ detail }) => detail).join("; ")),
        NotRendered: ({ faults }) => failed(faults.map(({ detail, variable }) => `${variable}: ${detail}`).join("; ")),
      }),
      Effect.map(({ detail, ok }): TestSent => ({ to: address, ok, detail })),
    ))
})

/** The results of a test. */
export const TestNote = ({ sent }: { readonly sent: ReadonlyArray<TestSent> }) => {
  const failures = sent.filter(({ ok }) => !ok)
  const reached = sent.filter(({ ok }) => ok).map(({ to }) => to).join(", ")
  return (
    <>
      {reached === "" ? null : (
        <Note kind="good" live>
          <b>Test sent to {reached}.</b> It does not count in results.
        </Note>
      )}
      {failures.map(({ detail, to }) => (
        <Note key={to} kind="bad" live>
          <b>No test was sent to {to}.</b> {detail}
        </Note>
      ))}
    </>
  )
}

/** The button that opens the form of a test, and the form, which works without scripts. */
export const TestForm = ({ action, faults, to }: {
  readonly action: string
  readonly faults: ReadonlyArray<Fault>
  readonly to: string
}) => (
  <details class="test-send" open={faults.some(({ pointer }) => pointer === "/test_to")}>
    <summary class="button">Send test</summary>
    <div class="stack">
      <Labelled
        id="test_to"
        label="Send a test to"
        faults={faults}
        hint={`Up to ${maxRecipients} addresses. Rendered with the sample fields. Tests do not count in results.`}
      >
        <input
          type="text"
          inputMode="email"
          autocomplete="off"
          value={to}
          {...tied(faults, "test_to", "test_to-hint")}
        />
      </Labelled>
      <div>
        <button type="submit" class="button primary" formaction={action}>Send now</button>
      </div>
    </div>
  </details>
)
