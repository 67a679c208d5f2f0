import { Effect } from "effect"
import { ErasureNotFound, type Fault } from "../../../domain/Errors.ts"
import type { Erasure } from "../../../erasure/ErasureQueue.ts"
import { Erasures } from "../../../people/Erasures.ts"
import { erasedKinds, erasedLabels, keptLabels } from "../../../erasure/Report.ts"
import { ErasureBody } from "../../../api/webhooks/WebhooksApi.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { Card } from "../../components/Card.tsx"
import { Facts } from "../../components/Facts.tsx"
import { Form, Submit } from "../../components/Form.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { ifFilled, text } from "../../FormReaders.ts"
import { inputForm } from "../../components/InputForm.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Fields, Visit } from "../../Routes.tsx"

const personForm = inputForm(ErasureBody, {
  user_id: {
    label: english("User id"),
    required: false,
    read: ifFilled(text),
    hint: english("As your systems send it."),
  },
  email: {
    label: english("E-mail address"),
    as: "email",
    required: false,
    read: ifFilled(text),
    hint: english("One of the two is enough."),
  },
})

const pathOf = ({ org }: Visit) => `/console/o/${org.slug}/people`

const back = (visit: Visit) => ({ href: pathOf(visit), label: t`People and messages` })

const ask = (visit: Visit, sent: Fields = {}, faults: ReadonlyArray<Fault> = []) =>
  Effect.succeed(view(
    {
      title: t`Erase a person`,
      back: back(visit),
      lead: t`For people who request the deletion of their data. A profile shows both ids of a person.`,
    },
    <ErrorSummary
      faults={faults.map((fault) =>
        fault.pointer === "" ? { pointer: "/user_id", detail: t`or the e-mail address is required` } : fault
      )}
      labels={personForm.labels}
    />,
    <Card>
      {/* Nothing is changed by asking who it is, hence no form that posts. */}
      <form method="get" action={`${pathOf(visit)}/erase`} class="fields" noValidate>
        <input type="hidden" name="check" value="yes" />
        <personForm.Fields values={sent} faults={faults} />
        <div>
          <Submit kind="plain">{t`Continue`}</Submit>
        </div>
      </form>
    </Card>,
  ))

const confirm = (visit: Visit, person: { readonly user_id?: string; readonly email?: string }) =>
  view(
    { title: t`Erase this person?`, back: back(visit) },
    <Card stacked kind="danger">
      <Facts
        rows={[
          person.user_id !== undefined && [translated(personForm.labels["user_id"]!), <b>{person.user_id}</b>],
          person.email !== undefined && [translated(personForm.labels["email"]!), <b>{person.email}</b>],
        ]}
      />
      <p>
        {t`Deletes the profile, sticky choices and send times. Removes the person from decisions, events and
          deliveries. Cancels queued messages. Empties webhook payloads that name the person. Counts are kept,
          because they contain no personal data.`}
      </p>
      <p>
        <b>{t`This cannot be undone.`}</b>
      </p>
      <Form action={`${pathOf(visit)}/erase`}>
        {Object.entries(person).map(([name, value]) => <input type="hidden" name={name} value={value} />)}
        <div class="buttons">
          <Submit kind="danger">{t`Erase the person`}</Submit>
          <a class="button" href={pathOf(visit)}>{t`Keep the person`}</a>
        </div>
      </Form>
    </Card>,
  )

const outcome = (visit: Visit, erasure: Erasure) => {
  if (erasure.state === "running") {
    return (
      <Note kind="warn" live>
        {t`The person is being erased. This takes minutes if many payloads were received. ${(
          <a href={`${pathOf(visit)}/erase/${erasure.id}`}>{t`Check the progress`}</a>
        )}`}
      </Note>
    )
  }
  if (erasure.state === "failed") {
    return (
      <Note kind="bad" live>
        {t`The person was not erased completely: ${erasure.reason ?? t`unknown`}. Erase the person again.`}
      </Note>
    )
  }
  return erasedKinds.every((kind) => erasure[kind] === 0)
    ? (
      <Note kind="warn" live>
        {t`No data found for this person, so nothing was erased. Check the exact spelling in your systems.`}
      </Note>
    )
    : <Note kind="good" live>{t`The person has been erased.`}</Note>
}

const titles = {
  running: english("The person is being erased"),
  done: english("Erasure report"),
  failed: english("The erasure failed"),
}

const done = (visit: Visit, erasure: Erasure) =>
  view(
    { title: translated(titles[erasure.state]), back: back(visit) },
    outcome(visit, erasure),
    <Card title={t`Erased`}>
      <Facts rows={erasedKinds.map((kind) => [translated(erasedLabels[kind]), erasure[kind]] as const)} />
    </Card>,
    erasure.kept.length !== 0 && (
      <Card title={t`Kept`}>
        <Facts
          rows={erasure.kept.map(({ count, kind, reason }) =>
            [
              translated(keptLabels[kind]),
              [...(count === null ? [] : [`${count}.`]), translated(reason)].join(" "),
            ] as const
          )}
        />
      </Card>
    ),
    <p class="muted">
      {t`Counts of variants are unchanged. The audit log records that a person was erased, but not who.`}
    </p>,
  )

const erasePage = (visit: Visit) => {
  const person = { user_id: visit.query.get("user_id") ?? "", email: visit.query.get("email") ?? "" }
  if (visit.query.get("check") === null) return ask(visit, person)
  return personForm.decode(person).pipe(
    Effect.map((person) => confirm(visit, person)),
    Effect.catchTag(
      "InvalidInput",
      ({ faults }) => Effect.map(ask(visit, person, faults), (view) => ({ ...view, status: 400 })),
    ),
  )
}

const peopleErasePage = Effect.fnUntraced(function* (visit: Visit) {
  const id = visit.params["id"] ?? ""
  const found = /^\d{1,15}$/.test(id) ? yield* (yield* Erasures).find(visit.org.slug, Number(id)) : undefined
  return found === undefined ? yield* new ErasureNotFound({ id: id.slice(0, 100) }) : done(visit, found)
})

/** The erasure of a person: the form, the confirmation, and the report of erased data. */
export const layer = pages(({ action, page }) => [
  page("/console/o/:org/people/erase", "erasePerson", erasePage),
  page("/console/o/:org/people/erase/:id", "getErasure", peopleErasePage),
  action(
    "/console/o/:org/people/erase",
    "erasePerson",
    Effect.fnUntraced(function* (visit, sent) {
      const { email, user_id } = yield* personForm.decode(sent)
      return done(visit, yield* (yield* Erasures).eraseNow({ org: visit.org.slug, user: user_id, email }))
    }),
    ask,
  ),
])
