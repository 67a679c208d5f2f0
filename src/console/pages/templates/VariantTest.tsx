import { Effect, Result, Schema } from "effect"
import { note } from "../../../accounts/Audit.ts"
import { Memberships } from "../../../accounts/Memberships.ts"
import { Connections } from "../../../delivery/Connections.ts"
import { TestMessages } from "../../../delivery/receivers/TestMessages.ts"
import { sendToEach, type TestSent } from "../../../delivery/receivers/GroupTest.ts"
import { TestGroups } from "../../../delivery/receivers/TestGroups.ts"
import { personLocale } from "../../../decide/PersonLocale.ts"
import { LocaleTag } from "../../../domain/Locale.ts"
import type { Template } from "../../../domain/Template.ts"
import { type Fault, InvalidInput } from "../../../domain/Errors.ts"
import { validateAddress } from "../../../text/Email.ts"
import type { TestGroup } from "../../../domain/TestGroup.ts"
import { t } from "../../../languages/Language.ts"
import { counted, firstOf } from "../../Format.ts"
import { Note } from "../../components/Note.tsx"
import type { Visit } from "../../Routes.tsx"
import { type Draft, sourcesOf } from "../../../templates/VariantForm.ts"
import { readSample, type Sample } from "./Draft.ts"
import { Labelled, tied } from "./EditorParts.tsx"

// A test message of the text in the editor, saved or not.

/** Most addresses that are typed for one test. */
const maxRecipients = 5

/** The recipients of a test as the form has them. */
export interface TestRecipients {
  /** Addresses, as they were typed. */
  readonly to: string
  /** Ids of the chosen groups. */
  readonly groups: ReadonlyArray<string>
}

/** The recipients in the fields of the form. Undefined if the form has no such fields. */
export const recipientsIn = (fields: Readonly<Record<string, string | undefined>>): TestRecipients | undefined =>
  fields["test_to"] === undefined ? undefined : {
    to: fields["test_to"],
    groups: (fields["test_group"] ?? "").split("\n").filter((id) => id !== ""),
  }

/** Distinct addresses in a text, separated by commas, semicolons or spaces. */
export const recipientsOf = (text: string): ReadonlyArray<string> => [
  ...new Set(text.split(/[\s,;]+/).filter((address) => address !== "")),
]

/** Faults of the typed recipients. `members` are lowercase addresses; undefined: any address may be used. */
export const recipientFaults = (
  recipients: ReadonlyArray<string>,
  members: ReadonlySet<string> | undefined,
): ReadonlyArray<string> => {
  if (recipients.length > maxRecipients) {
    return [t`must be ${maxRecipients} addresses at most. For more, choose a test group`]
  }
  return recipients.flatMap((address) => {
    const fault = validateAddress(address)
    if (fault !== undefined) return [`${address} ${fault}`]
    return members === undefined || members.has(address.toLowerCase()) ? [] : [
      t`${address} is no member of the organization. Only admins send tests to other addresses, or put
        them in a test group`,
    ]
  })
}

/** The typed addresses and the addresses of the groups, each once. */
const allOf = (typed: ReadonlyArray<string>, groups: ReadonlyArray<TestGroup>): ReadonlyArray<string> => {
  const all = [...typed, ...groups.flatMap(({ emails }) => emails)]
  return all.filter((one, at) => all.findIndex((other) => other.toLowerCase() === one.toLowerCase()) === at)
}

const isTag = Schema.is(LocaleTag)

/** Sends the draft to each recipient, in the locale `chosen` or, if it is empty, of the sample. Fails with `InvalidInput` when nothing can be sent to anybody. */
export const sendTest = Effect.fnUntraced(function* (
  visit: Visit,
  of: Pick<Template, "id" | "locale">,
  draft: Draft,
  { chosen, sample }: { readonly sample: Sample; readonly chosen: string },
  to: TestRecipients,
) {
  const typed = recipientsOf(to.to)
  const groups = (yield* (yield* TestGroups).list(visit.org.slug)).filter(({ id }) => to.groups.includes(id))
  const recipients = allOf(typed, groups)
  // The sample fields may be about a person.
  yield* note({ to: recipients, ...(groups.length === 0 ? {} : { groups: groups.map(({ id }) => id) }) })
  const members = visit.can("sendTestMessage") ? undefined : new Set(
    (yield* (yield* Memberships).list(visit.org.slug)).map(({ email }) => email.toLowerCase()),
  )
  const active = (yield* Connections).active(visit.org.slug)
  const given = readSample(sample)
  const faults: ReadonlyArray<Fault> = [
    ...(recipients.length === 0
      ? [{ pointer: "/test_to", detail: t`is missing: enter an e-mail address, or choose a test group` }]
      : recipientFaults(typed, members).map((detail) => ({ pointer: "/test_to", detail }))),
    ...(active === undefined
      ? [{ pointer: "/test_to", detail: t`needs a connection: no enabled connection can send it` }]
      : []),
    ...(Result.isFailure(given) ? given.failure : []),
  ]
  if (active === undefined || Result.isFailure(given) || faults.length > 0) return yield* new InvalidInput({ faults })
  const { attrs, fields } = given.success
  const locale = isTag(chosen)
    ? chosen
    : of.locale === null
    ? undefined
    : personLocale(of.locale, { attrs, fields }).chain[0]
  const ask = {
    template_id: of.id,
    ...(locale === undefined ? {} : { locale }),
    ...(draft.id === "" ? {} : { copy_id: draft.id }),
    fields,
  }
  const failed = (detail: string) =>
    Effect.succeed(recipients.map((to): TestSent => ({ to, ok: false, detail, messageId: null })))
  // A fault of the text affects all recipients.
  return yield* sendToEach(yield* TestMessages, visit.org.slug, active.name, recipients, ask, sourcesOf(draft)).pipe(
    Effect.catchTags({
      InvalidInput: ({ faults }) =>
        failed(
          faults.map(({ detail, pointer }) =>
            pointer === "connection" ? t`The connection ${active.name} ${detail}` : detail
          )
            .join("; "),
        ),
      NotRendered: ({ faults }) => failed(faults.map(({ detail, variable }) => `${variable}: ${detail}`).join("; ")),
    }),
  )
})

/** Addresses of a note; more than six are counted. */
const named = (sent: ReadonlyArray<TestSent>): string => firstOf(sent.map(({ to }) => to), sent.length > 6 ? 5 : 6)

/** The results of a test. */
export const TestNote = ({ sent }: { readonly sent: ReadonlyArray<TestSent> }) => {
  const reached = sent.filter(({ ok }) => ok)
  const failures = Map.groupBy(sent.filter(({ ok }) => !ok), ({ detail }) => detail)
  return (
    <>
      {reached.length !== 0 && (
        <Note kind="good" live>
          {t`${<b>{t`Test sent to ${named(reached)}.`}</b>} It does not count in results.`}
        </Note>
      )}
      {[...failures].map(([detail, some]) => (
        <Note key={detail} kind="bad" live>
          <b>{t`No test was sent to ${named(some)}.`}</b> {detail}
        </Note>
      ))}
    </>
  )
}

/** The test groups that the form of a test offers, and its fields. */
export interface TestChoice extends TestRecipients {
  readonly offered: ReadonlyArray<TestGroup>
  /** Where a first group is created; undefined for members who may not. */
  readonly create: string | undefined
}

/** The button that opens the form of a test, and the form, which works without scripts. */
export const TestForm = ({ action, faults, test: { create, groups, offered, to } }: {
  readonly action: string
  readonly faults: ReadonlyArray<Fault>
  readonly test: TestChoice
}) => (
  <details class="test-send" open={faults.some(({ pointer }) => pointer === "/test_to")}>
    <summary class="button">{t`Send test`}</summary>
    <div class="stack">
      {offered.length === 0
        ? create === undefined ? null : (
          <p class="hint">
            {t`To test with the same people each time, ${(
              <a href={create} target="_blank" rel="noopener">{t`create a test group`}</a>
            )} (opens a new tab). Groups appear here when this
              page is loaded again.`}
          </p>
        )
        : (
          <fieldset>
            <legend>{t`Test groups`}</legend>
            <div class="choices short">
              {offered.map(({ emails, id, name }) => (
                <div class="choice" key={id}>
                  <input
                    type="checkbox"
                    id={`test_group-${id}`}
                    name="test_group"
                    value={id}
                    checked={groups.includes(id)}
                    aria-describedby={`test_group-${id}-hint`}
                  />
                  <label for={`test_group-${id}`}>
                    <bdi>{name}</bdi>
                  </label>
                  <span id={`test_group-${id}-hint`} title={emails.join(", ")}>
                    {counted(emails.length, "address", "addresses")}
                  </span>
                </div>
              ))}
            </div>
          </fieldset>
        )}
      <Labelled
        id="test_to"
        label={t`Send a test to`}
        faults={faults}
        hint={t`Up to ${maxRecipients} addresses. Rendered with the sample fields. Tests do not count in results.`}
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
        <button type="submit" class="button primary" formaction={action}>{t`Send now`}</button>
      </div>
    </div>
  </details>
)
