import { Effect, Schema } from "effect"
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
import { t } from "../../../languages/Language.ts"
import { Learning } from "../../../learning/Learning.ts"
import { tellApart } from "../../../store/ChangeTrail.ts"
import * as TemplateFile from "../../../templates/TemplateFile.ts"
import { Proposals } from "../../../templates/Proposals.ts"
import { Templates } from "../../../templates/Templates.ts"
import { Card } from "../../components/Card.tsx"
import { askFirst } from "../../components/AskFirst.tsx"
import { Form, PostButton } from "../../components/Form.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import { decoded, type Fields, type Visit } from "../../Routes.tsx"
import { listPath, templatePath } from "./Paths.ts"
import { SettingsFields, settingsInput, settingsLabels, settingsOf, settingsPointers } from "./SettingsFields.tsx"
import { copyName, counted } from "../../Format.ts"
import { changedMembers } from "../../OpenedForm.ts"

/** Copies of one template that find an id by themselves. */
const maxCopies = 50

const decodePatch = decoder(TemplatePatch)

const idOf = ({ params }: Visit) => params["template"] ?? ""

const get = (visit: Visit) => Templates.use((templates) => templates.get(visit.org.slug, idOf(visit)))

const home = (visit: Visit) => templatePath(visit.org.slug, idOf(visit))

const settings = Effect.fnUntraced(function* (visit: Visit, fields?: Fields, faults: ReadonlyArray<Fault> = []) {
  const { proposal, template } = yield* (yield* Proposals).working(visit.org.slug, idOf(visit))
  const shown = fields ?? settingsOf(template)
  return view(
    {
      title: t`${template.name} · Settings`,
      back: { href: home(visit), label: template.name },
      lead: (
        <>
          {t`Id ${<code>{template.id}</code>}`}
        </>
      ),
    },
    <ErrorSummary faults={faults} labels={settingsLabels} />,
    proposal !== undefined && (
      <Note>
        {t`You edit ${(
          <a href={`/console/o/${visit.org.slug}/reviews/${proposal}`}>{t`your change that waits for approval`}</a>
        )}.`}
      </Note>
    ),
    <Card>
      <Form submit={t`Save settings`} action={`${home(visit)}/settings`} opened={shown}>
        <SettingsFields
          fields={shown}
          faults={faults}
          members={yield* (yield* Memberships).list(visit.org.slug)}
          variants={template.variants}
        />
      </Form>
    </Card>,
    <Card
      title={t`Copy or archive`}
      lead={t`A copy has an id of its own and the same variants. An archived template is no longer served, keeps
        its results and can be restored.`}
    >
      <div class="buttons">
        {visit.can("createTemplate") && (
          <PostButton to={`${home(visit)}/duplicate`} fields={{ duplicated: "true" }}>
            {t`Duplicate the template`}
          </PostButton>
        )}
        {template.archived_at === null
          ? <a class="button" href={`${home(visit)}/archive`}>{t`Archive the template`}</a>
          : (
            <PostButton to={`${home(visit)}/restore`} fields={{ archived: "false" }}>
              {t`Restore the template`}
            </PostButton>
          )}
      </div>
    </Card>,
    visit.can("deleteTemplate") && (
      <Card title={t`Delete this template`} lead={t`Deletes its variants too. Past sends are kept.`}>
        <a class="button danger" href={`${home(visit)}/delete`}>{t`Delete the template`}</a>
      </Card>
    ),
  )
})

const save = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const stored = settingsOf((yield* (yield* Proposals).working(visit.org.slug, idOf(visit))).template)
  const patch = yield* decoded(
    changedMembers(
      fields,
      stored,
      ["conversion_events", "link_domains"],
      (form) => decodePatch(settingsInput(form)),
    ),
  ).pipe(
    Effect.mapError(({ faults }) => new InvalidInput({ faults: settingsPointers(faults) })),
  )
  const before = yield* get(visit)
  const after = yield* (yield* Templates).update(visit.org.slug, before.id, patch)
  // The goal has changed: the model follows without waiting for new events.
  if (JSON.stringify(after.objective) !== JSON.stringify(before.objective)) {
    yield* (yield* Learning).wake(visit.org.slug, before.id, true)
  }
  return { to: home(visit), done: "template-saved" }
})

/** A template like this one under an id that is free. */
const duplicate = Effect.fnUntraced(function* (visit: Visit) {
  const { org } = visit
  // The owner may have left, and a copy is made for somebody else to look after.
  const { archived: _, id, name, owner: _owner, ...input } = TemplateFile.inputOf(yield* get(visit))
  const copy = (
    number: number,
  ): Effect.Effect<
    Template,
    OrganizationNotFound | AlreadyExists | InvalidInput | ChecksBusy | ChangeProposed,
    Templates
  > =>
    Effect.gen(function* () {
      const end = number === 1 ? "-copy" : `-copy-${number}`
      const wanted = yield* Schema.decodeEffect(TemplateId)(`${(id ?? "").slice(0, 200 - end.length)}${end}`)
      return yield* (yield* Templates).create(org.slug, { ...input, id: wanted, name: copyName(name) })
    }).pipe(
      Effect.catchTag("SchemaError", Effect.die),
      Effect.catchTag("AlreadyExists", (error) => number < maxCopies ? copy(number + 1) : Effect.fail(error)),
    )
  // The history of the copy names where it comes from.
  yield* tellApart({ copy_of: id ?? "" })
  const made = yield* copy(1)
  return { to: templatePath(org.slug, made.id), done: "template-duplicated" }
})

const setArchived = (archived: boolean) =>
  Effect.fnUntraced(function* (visit: Visit) {
    yield* (yield* Templates).update(visit.org.slug, idOf(visit), { archived })
    const [done, reverse] = archived ? ["template-archived", "restore"] : ["template-restored", "archive"]
    return { to: home(visit), done, undo: { to: `${home(visit)}/${reverse}` } }
  })

const confirmArchive = Effect.fnUntraced(function* (visit: Visit) {
  const { id, name } = yield* get(visit)
  return askFirst({
    title: t`Archive a template`,
    question: t`Archive ${name}?`,
    back: { href: home(visit), label: name },
    button: t`Archive the template`,
    text: (
      <>
        <p>
          {t`Within 5 seconds, requests for ${(
            <code>{id}</code>
          )} are answered 404 (archived) and new messages with it are
            refused. Queued messages are still sent; cancel them under Deliveries.`}
        </p>
        <p class="muted">
          {t`Its variants, results and history are kept, and events for sent messages still count. You can
            restore it at any time.`}
        </p>
      </>
    ),
  })
})

const confirm = Effect.fnUntraced(function* (visit: Visit) {
  const { archived_at: archivedAt, name, variants } = yield* get(visit)
  const active = variants.filter(({ active }) => active).length
  const exportIt = <a href={`${home(visit)}/export`}>{t`Export it first`}</a>
  return askFirst({
    title: t`Delete a template`,
    question: t`Delete ${name}?`,
    back: { href: home(visit), label: name },
    button: t`Delete the template`,
    text: (
      <>
        <p>
          {t`The template and its ${
            counted(variants.length, "variant")
          } cannot be restored. Requests for it are answered 404. Past sends
            are kept.`}
        </p>
        {active !== 0 && <p>{counted(active, "variant is active.", "variants are active.")}</p>}
        <p class="muted">
          {archivedAt === null
            ? t`${exportIt} to be able to import it again, or ${(
              <a href={`${home(visit)}/archive`}>{t`archive it`}</a>
            )} instead.`
            : t`${exportIt} to be able to import it again.`}
        </p>
      </>
    ),
  })
})

/** The settings of a template; copying, archiving, restoring and deleting it. */
export const layer = pages(({ action, asks, form }) => [
  ...form("/console/o/:org/templates/:template/settings", "updateTemplate", settings, save),
  action("/console/o/:org/templates/:template/duplicate", "createTemplate", duplicate),
  ...asks("/console/o/:org/templates/:template/archive", "updateTemplate", confirmArchive, setArchived(true)),
  action("/console/o/:org/templates/:template/restore", "updateTemplate", setArchived(false)),
  ...asks(
    "/console/o/:org/templates/:template/delete",
    "deleteTemplate",
    confirm,
    Effect.fnUntraced(function* (visit) {
      yield* (yield* Templates).remove(visit.org.slug, idOf(visit))
      return { to: listPath(visit.org.slug), done: "template-deleted" }
    }),
  ),
])
