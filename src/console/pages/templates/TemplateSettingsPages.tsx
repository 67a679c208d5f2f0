/** @jsxImportSource preact */
import { Effect, Schema } from "effect"
import { HttpRouter } from "effect/http"
import {
  type AlreadyExists,
  type ChangeProposed,
  type ChecksBusy,
  type Fault,
  InvalidInput,
  type OrganizationNotFound,
} from "../../../domain/Errors.ts"
import { Memberships } from "../../../accounts/Memberships.ts"
import { decoder } from "../../../domain/Faults.ts"
import { TemplateId } from "../../../domain/Ids.ts"
import { type Template, TemplatePatch } from "../../../domain/Template.ts"
import { lookedUp } from "../../../api/server/Requests.ts"
import { Learning } from "../../../learning/Learning.ts"
import { tellApart } from "../../../store/ChangeTrail.ts"
import * as TemplateFile from "../../../templates/TemplateFile.ts"
import { Proposals } from "../../../templates/Proposals.ts"
import { Templates } from "../../../templates/Templates.ts"
import { Card } from "../../components/Card.tsx"
import { Confirm } from "../../components/Confirm.tsx"
import { Form, Submit } from "../../components/Form.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { PageHead } from "../../components/PageHead.tsx"
import { Console, decoded, type Fields, type Visit } from "../../Routes.tsx"
import { listPath, templatePath } from "./Paths.ts"
import { SettingsFields, settingsInput, settingsLabels, settingsOf, settingsPointers } from "./SettingsFields.tsx"
import { counted } from "../../Format.ts"

/** Copies of one template that find an id by themselves. */
const maxCopies = 50

const decodePatch = decoder(TemplatePatch)

/** Services of these pages. */
interface Services {
  readonly proposals: Proposals["Service"]
  readonly learning: Learning["Service"]
  readonly members: Memberships["Service"]
  readonly templates: Templates["Service"]
}

const idOf = ({ params }: Visit) => lookedUp(params["template"] ?? "")

const get = (services: Services, visit: Visit) => services.templates.get(visit.org.slug, idOf(visit))

const home = (visit: Visit) => templatePath(visit.org.slug, idOf(visit))

const settings = Effect.fnUntraced(
  function* (services: Services, visit: Visit, fields?: Fields, faults: ReadonlyArray<Fault> = []) {
    const { proposal, template } = yield* services.proposals.working(visit.org.slug, idOf(visit))
    return {
      title: `${template.name} · Settings`,
      body: (
        <>
          <PageHead
            title={`${template.name} · Settings`}
            back={{ href: home(visit), label: template.name }}
            lead={
              <>
                Id <code>{template.id}</code>
              </>
            }
          />
          <ErrorSummary faults={faults} labels={settingsLabels} />
          {proposal === undefined ? null : (
            <Note>
              You edit{" "}
              <a href={`/console/o/${visit.org.slug}/reviews/${proposal}`}>your change that waits for approval</a>.
            </Note>
          )}
          <Card>
            <Form submit="Save settings" action={`${home(visit)}/settings`} csrf={visit.session.csrfToken}>
              <SettingsFields
                fields={fields ?? settingsOf(template)}
                faults={faults}
                members={yield* services.members.list(visit.org.slug)}
                variants={template.variants}
              />
            </Form>
          </Card>
          <Card
            title="Copy or archive"
            lead="A copy has an id of its own and the same variants. An archived template is no longer served, keeps its results and can be restored."
          >
            <div class="buttons">
              {visit.can("createTemplate")
                ? (
                  <Form action={`${home(visit)}/duplicate`} csrf={visit.session.csrfToken} inline>
                    <input type="hidden" name="duplicated" value="true" />
                    <Submit kind="plain">Duplicate the template</Submit>
                  </Form>
                )
                : null}
              {template.archived_at === null
                ? <a class="button" href={`${home(visit)}/archive`}>Archive the template</a>
                : (
                  <Form action={`${home(visit)}/restore`} csrf={visit.session.csrfToken} inline>
                    <input type="hidden" name="archived" value="false" />
                    <Submit kind="plain">Restore the template</Submit>
                  </Form>
                )}
            </div>
          </Card>
          {visit.can("deleteTemplate")
            ? (
              <Card title="Delete this template" lead="Deletes its variants too. Past decisions are kept.">
                <a class="button danger" href={`${home(visit)}/delete`}>Delete the template</a>
              </Card>
            )
            : null}
        </>
      ),
    }
  },
)

const save = Effect.fnUntraced(function* (services: Services, visit: Visit, fields: Fields) {
  const patch = yield* decoded(decodePatch(settingsInput(fields))).pipe(
    Effect.mapError(({ faults }) => new InvalidInput({ faults: settingsPointers(faults) })),
  )
  const before = yield* get(services, visit)
  const after = yield* services.templates.update(visit.org.slug, before.id, patch)
  // The goal has changed: the model follows without waiting for new events.
  if (JSON.stringify(after.objective) !== JSON.stringify(before.objective)) {
    yield* services.learning.wake(visit.org.slug, before.id, true)
  }
  return { to: home(visit), done: "template-saved" }
})

/** A template like this one under an id that is free. */
const duplicate = Effect.fnUntraced(function* (services: Services, visit: Visit) {
  const { org } = visit
  // The owner may have left, and a copy is made for somebody else to look after.
  const { archived: _, id, name, owner: _owner, ...input } = TemplateFile.inputOf(yield* get(services, visit))
  const copy = (
    number: number,
  ): Effect.Effect<Template, OrganizationNotFound | AlreadyExists | InvalidInput | ChecksBusy | ChangeProposed> =>
    Effect.gen(function* () {
      const end = number === 1 ? "-copy" : `-copy-${number}`
      const wanted = yield* Schema.decodeEffect(TemplateId)(`${(id ?? "").slice(0, 200 - end.length)}${end}`)
      return yield* services.templates.create(org.slug, { ...input, id: wanted, name: `Copy of ${name}`.slice(0, 200) })
    }).pipe(
      Effect.catchTag("SchemaError", Effect.die),
      Effect.catchTag("AlreadyExists", (error) => number < maxCopies ? copy(number + 1) : Effect.fail(error)),
    )
  // The history of the copy names where it comes from.
  yield* tellApart({ copy_of: id ?? "" })
  const made = yield* copy(1)
  return { to: templatePath(org.slug, made.id), done: "template-duplicated" }
})

const setArchived = (services: Services, archived: boolean) =>
  Effect.fnUntraced(function* (visit: Visit) {
    yield* services.templates.update(visit.org.slug, idOf(visit), { archived })
    return { to: home(visit), done: archived ? "template-archived" : "template-restored" }
  })

const confirmArchive = Effect.fnUntraced(function* (services: Services, visit: Visit) {
  const { id, name } = yield* get(services, visit)
  return {
    title: "Archive a template",
    body: (
      <>
        <PageHead title={`Archive ${name}?`} back={{ href: home(visit), label: name }} />
        <Confirm
          action={`${home(visit)}/archive`}
          csrf={visit.session.csrfToken}
          back={home(visit)}
          button="Archive the template"
        >
          <p>
            Within 5 seconds, requests for <code>{id}</code>{"  "}
            are answered 404 (archived) and new messages with it are refused. Queued messages are still sent; cancel
            them under Deliveries.
          </p>
          <p class="muted">
            Its variants, results and history are kept, and events for sent messages still count. You can restore it at
            any time.
          </p>
        </Confirm>
      </>
    ),
  }
})

const confirm = Effect.fnUntraced(function* (services: Services, visit: Visit) {
  const { archived_at: archivedAt, name, variants } = yield* get(services, visit)
  const active = variants.filter(({ active }) => active).length
  return {
    title: "Delete a template",
    body: (
      <>
        <PageHead title={`Delete ${name}?`} back={{ href: home(visit), label: name }} />
        <Confirm
          action={`${home(visit)}/delete`}
          csrf={visit.session.csrfToken}
          back={home(visit)}
          button="Delete the template"
        >
          <p>
            The template and its {counted(variants.length, "variant")}{" "}
            cannot be restored. Requests for it are answered 404. Past decisions are kept.
          </p>
          {active === 0 ? null : <p>{counted(active, "variant is", "variants are")} active.</p>}
          <p class="muted">
            <a href={`${home(visit)}/export`}>Export it first</a> to be able to import it again
            {archivedAt === null
              ? (
                <>
                  {", or "}
                  <a href={`${home(visit)}/archive`}>archive it</a> instead
                </>
              )
              : null}.
          </p>
        </Confirm>
      </>
    ),
  }
})

/** The settings of a template; copying, archiving, restoring and deleting it. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { action, page } = yield* Console
  const services: Services = {
    proposals: yield* Proposals,
    learning: yield* Learning,
    members: yield* Memberships,
    templates: yield* Templates,
  }

  yield* router.addAll([
    page("/console/o/:org/templates/:template/settings", "updateTemplate", (visit) => settings(services, visit)),
    action(
      "/console/o/:org/templates/:template/settings",
      "updateTemplate",
      (visit, fields) => save(services, visit, fields),
      (visit, fields, faults) => settings(services, visit, fields, faults),
    ),
    action("/console/o/:org/templates/:template/duplicate", "createTemplate", (visit) => duplicate(services, visit)),
    page("/console/o/:org/templates/:template/archive", "updateTemplate", (visit) => confirmArchive(services, visit)),
    action("/console/o/:org/templates/:template/archive", "updateTemplate", setArchived(services, true)),
    action("/console/o/:org/templates/:template/restore", "updateTemplate", setArchived(services, false)),
    page("/console/o/:org/templates/:template/delete", "deleteTemplate", (visit) => confirm(services, visit)),
    action(
      "/console/o/:org/templates/:template/delete",
      "deleteTemplate",
      Effect.fnUntraced(function* (visit) {
        yield* services.templates.remove(visit.org.slug, idOf(visit))
        return { to: listPath(visit.org.slug), done: "template-deleted" }
      }),
    ),
  ])
}))
