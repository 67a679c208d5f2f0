// deno-lint-ignore-file jsx-key -- rendered once, on the server
/** @jsxImportSource preact */
import { Effect, Result } from "effect"
import { HttpRouter } from "effect/http"
import type { Fault } from "../../../domain/Errors.ts"
import { decoder } from "../../../domain/Faults.ts"
import { type Erased, Erasures } from "../../../events/Erasures.ts"
import { ErasureBody } from "../../../http/WebhooksApi.ts"
import { Card } from "../../components/Card.tsx"
import { Field } from "../../components/Field.tsx"
import { Form, Submit } from "../../components/Form.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { PageHead } from "../../components/PageHead.tsx"
import { Console, decoded, type Fields, type Visit } from "../../Routes.tsx"

const decodePerson = decoder(ErasureBody)

const labels = { user_id: "User id", email: "E-mail address" }

const personIn = (sent: Fields) => {
  const user = (sent["user_id"] ?? "").trim()
  const email = (sent["email"] ?? "").trim()
  return { ...(user === "" ? {} : { user_id: user }), ...(email === "" ? {} : { email }) }
}

const counted = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`

/** Forgetting a person: who, are you sure, and what was erased. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { action, page } = yield* Console
  const erasures = yield* Erasures

  const pathOf = ({ org }: Visit) => `/console/o/${org.slug}/people`
  const back = (visit: Visit) => ({ href: pathOf(visit), label: "People and messages" })

  const ask = (visit: Visit, sent: Fields = {}, faults: ReadonlyArray<Fault> = []) =>
    Effect.succeed({
      title: "Erase a person",
      body: (
        <>
          <PageHead
            title="Erase a person"
            back={back(visit)}
            lead="For somebody who asks to be forgotten. The other name of the same person is found by the profile."
          />
          <ErrorSummary
            faults={faults.map((fault) =>
              fault.pointer === "" ? { pointer: "/user_id", detail: "or the e-mail address is needed" } : fault
            )}
            labels={labels}
          />
          <Card>
            {/* Nothing is changed by asking who it is, hence no form that posts. */}
            <form method="get" action={`${pathOf(visit)}/erase`} class="fields" noValidate>
              <input type="hidden" name="check" value="yes" />
              <Field
                name="user_id"
                label={labels.user_id}
                value={sent["user_id"] ?? ""}
                required={false}
                faults={faults}
                hint="As your systems send it."
              />
              <Field
                name="email"
                type="email"
                label={labels.email}
                value={sent["email"] ?? ""}
                required={false}
                faults={faults}
                hint="One of the two is enough."
              />
              <div>
                <Submit kind="plain">Go on</Submit>
              </div>
            </form>
          </Card>
        </>
      ),
    })

  const confirm = (visit: Visit, person: { readonly user_id?: string; readonly email?: string }) => ({
    title: "Erase this person?",
    body: (
      <>
        <PageHead title="Erase this person?" back={back(visit)} />
        <Card kind="danger">
          <div class="stack">
            <dl class="facts">
              {person.user_id === undefined ? null : (
                <>
                  <dt>{labels.user_id}</dt>
                  <dd>
                    <b>{person.user_id}</b>
                  </dd>
                </>
              )}
              {person.email === undefined ? null : (
                <>
                  <dt>{labels.email}</dt>
                  <dd>
                    <b>{person.email}</b>
                  </dd>
                </>
              )}
            </dl>
            <p>
              The profile goes; decisions and events no longer name the person; received bodies that do lose their
              content; deliveries lose address and words, and what is queued does not leave. Counts stay: they name
              nobody.
            </p>
            <p>
              <b>It cannot be undone.</b>
            </p>
            <Form action={`${pathOf(visit)}/erase`} csrf={visit.session.csrfToken}>
              {Object.entries(person).map(([name, value]) => <input type="hidden" name={name} value={value} />)}
              <div class="buttons">
                <Submit kind="danger">Erase the person</Submit>
                <a class="button" href={pathOf(visit)}>Keep it</a>
              </div>
            </Form>
          </div>
        </Card>
      </>
    ),
  })

  const done = (visit: Visit, erased: Erased) => ({
    title: "The person has been erased",
    body: (
      <>
        <PageHead title="The person has been erased" back={back(visit)} />
        {Object.values(erased).every((count) => count === 0)
          ? (
            <Note kind="warn" live>
              Nothing was known under that name, so nothing was erased. Check how your systems write it.
            </Note>
          )
          : (
            <Note kind="good" live>
              Erased: {counted(erased.profiles, "profile", "profiles")}. No longer named in{" "}
              {counted(erased.decisions, "decision", "decisions")}, {counted(erased.events, "event", "events")},{" "}
              {counted(erased.deliveries, "delivery", "deliveries")} and{" "}
              {counted(erased.bodies, "received body", "received bodies")}.
            </Note>
          )}
        <p class="muted">Counts are as they were. The audit log says that somebody was erased, and not who.</p>
      </>
    ),
  })

  yield* router.addAll([
    page("/console/o/:org/people/erase", "erasePerson", (visit) => {
      const asked = { user_id: visit.query.get("user_id") ?? "", email: visit.query.get("email") ?? "" }
      if (visit.query.get("check") === null) return ask(visit, asked)
      const person = decodePerson(personIn(asked))
      return Result.isSuccess(person)
        ? Effect.succeed(confirm(visit, person.success))
        : Effect.map(ask(visit, asked, person.failure), (view) => ({ ...view, status: 400 }))
    }),
    action(
      "/console/o/:org/people/erase",
      "erasePerson",
      Effect.fnUntraced(function* (visit, sent) {
        const { email, user_id } = yield* decoded(decodePerson(personIn(sent)))
        return done(visit, yield* erasures.eraseNow({ org: visit.org.slug, user: user_id, email }))
      }),
      ask,
    ),
  ])
}))
