/** @jsxImportSource preact */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { type Fault, InvalidInput } from "../../../domain/Errors.ts"
import { decoder } from "../../../domain/Faults.ts"
import { TemplateInput } from "../../../domain/Template.ts"
import { TemplateCache } from "../../../templates/TemplateCache.ts"
import { Templates } from "../../../templates/Templates.ts"
import { assets } from "../../Assets.ts"
import { Card } from "../../components/Card.tsx"
import { Field } from "../../components/Field.tsx"
import { Form } from "../../components/Form.tsx"
import { ErrorSummary } from "../../components/Note.tsx"
import { PageHead } from "../../components/PageHead.tsx"
import { Console, decoded, type Fields, type Visit } from "../../Routes.tsx"
import { createPath, listPath, templatePath } from "./Paths.ts"
import { SettingsFields, settingsInput, settingsLabels, settingsPointers } from "./SettingsFields.tsx"
import { freeId, idOfName } from "../../../templates/SuggestedId.ts"

const decodeInput = decoder(TemplateInput)

/** Services of these pages. */
interface Services {
  readonly templates: Templates["Service"]
  readonly templateCache: TemplateCache["Service"]
}

const create = (visit: Visit, fields: Fields = { objective: "click" }, faults: ReadonlyArray<Fault> = []) =>
  Effect.succeed({
    title: "Create a template",
    body: (
      <>
        <PageHead
          title="Create a template"
          back={{ href: listPath(visit.org.slug), label: "Templates" }}
          lead="Variants come next."
        />
        <ErrorSummary faults={faults} labels={{ ...settingsLabels, id: "Id" }} />
        <Card>
          <Form submit="Create template" action={createPath(visit.org.slug)} csrf={visit.session.csrfToken}>
            <SettingsFields fields={fields} faults={faults} isFolded>
              <Field
                name="id"
                label="Id"
                value={fields["id"] ?? ""}
                required={false}
                faults={faults}
                hint="The template_id in requests. It cannot be changed later. Leave empty to have it made from the name, such as cart-reminder."
              />
            </SettingsFields>
          </Form>
        </Card>
        <script type="module" src={assets.templates}></script>
      </>
    ),
  })

/** The id that was written, or one made from the name that no template has. */
const idOf = (services: Services, org: string, fields: Fields): string => {
  const written = (fields["id"] ?? "").trim()
  return written !== ""
    ? written
    : freeId(idOfName(fields["name"] ?? "") || "template", (id) =>
      services.templateCache.template(org, id) !== undefined)
}

const newAction = Effect.fnUntraced(function* (services: Services, { org }: Visit, fields: Fields) {
  const input = yield* decoded(decodeInput({ id: idOf(services, org.slug, fields), ...settingsInput(fields) })).pipe(
    Effect.mapError(({ faults }) => new InvalidInput({ faults: settingsPointers(faults) })),
  )
  const made = yield* services.templates.create(org.slug, input).pipe(
    Effect.catchTag(
      "AlreadyExists",
      () => new InvalidInput({ faults: [{ pointer: "/id", detail: "is taken: choose another" }] }),
    ),
  )
  return { to: templatePath(org.slug, made.id), done: "template-created" }
})

/** Creating a template. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { action, page } = yield* Console
  const services: Services = { templates: yield* Templates, templateCache: yield* TemplateCache }

  yield* router.addAll([
    page("/console/o/:org/templates/-/new", "createTemplate", (visit) => create(visit)),
    action(
      "/console/o/:org/templates/-/new",
      "createTemplate",
      (visit, fields) => newAction(services, visit, fields),
      create,
    ),
  ])
}))
