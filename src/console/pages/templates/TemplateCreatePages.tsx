import { Effect } from "effect"
import { type Fault, InvalidInput } from "../../../domain/Errors.ts"
import { decoder } from "../../../domain/Faults.ts"
import { TemplateInput } from "../../../domain/Template.ts"
import { t } from "../../../languages/Language.ts"
import { layoutOf } from "../../../templates/Layouts.ts"
import { TemplateCache } from "../../../templates/TemplateCache.ts"
import { Templates } from "../../../templates/Templates.ts"
import { assets } from "../../Assets.ts"
import { Card } from "../../components/Card.tsx"
import { Field } from "../../components/Field.tsx"
import { Form } from "../../components/Form.tsx"
import { ErrorSummary } from "../../components/Note.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import { formFields, text, typed } from "../../FormReaders.ts"
import { decoded, type Fields, type Visit } from "../../Routes.tsx"
import { LayoutChoices } from "./EditorParts.tsx"
import { createPath, listPath, templatePath } from "./Paths.ts"
import { SettingsFields, settingsInput, settingsLabels, settingsPointers } from "./SettingsFields.tsx"
import { freeId, idOfName } from "../../../templates/SuggestedId.ts"

const decodeInput = decoder(TemplateInput)

const firstFields = ({ query }: Visit): Fields => ({
  objective: "click",
  layout: layoutOf(query.get("layout"))?.id ?? "",
})

/** An id made from a name that no template has, and that is none of `taken`. */
const freeTemplateId = (org: string, name: string, taken: ReadonlyArray<string> = []) =>
  TemplateCache.useSync((templates) =>
    freeId(idOfName(name) || "template", (id) => taken.includes(id) || templates.template(org, id) !== undefined)
  )

const create = Effect.fnUntraced(function* (
  visit: Visit,
  fields: Fields = firstFields(visit),
  faults: ReadonlyArray<Fault> = [],
) {
  return view(
    {
      title: t`Create a template`,
      back: { href: listPath(visit.org.slug), label: t`Templates` },
      lead: t`Variants come next.`,
    },
    <ErrorSummary faults={faults} labels={{ ...settingsLabels, id: t`Id` }} />,
    <Card>
      <Form submit={t`Create template`} action={createPath(visit.org.slug)}>
        <SettingsFields
          fields={fields}
          faults={faults}
          isFolded
          basic={
            <LayoutChoices
              chosen={fields["layout"] ?? ""}
              label={t`Begin with`}
              others={[["", t`An empty message`, t`Written by you, or pasted from another platform`]]}
            />
          }
        >
          <Field
            name="id"
            label={t`Id`}
            value={fields["id"] ?? ""}
            placeholder={yield* freeTemplateId(visit.org.slug, "")}
            required={false}
            faults={faults}
            hint={t`The template_id in requests. It cannot be changed later. Leave empty to have it made from the name,
              such as cart-reminder.`}
          />
        </SettingsFields>
      </Form>
    </Card>,
    <script type="module" src={assets.templates}></script>,
  )
})

const nameFields = formFields({ id: text, name: typed })

const newAction = Effect.fnUntraced(function* ({ org }: Visit, fields: Fields) {
  const templates = yield* Templates
  const { id: written, name } = nameFields(fields)
  // Ids that other forms, sent at the same time, got first.
  const taken: Array<string> = []
  const create = Effect.gen(function* () {
    const id = written || (yield* freeTemplateId(org.slug, name, taken))
    const input = yield* decoded(decodeInput({ id, ...settingsInput(fields) })).pipe(
      Effect.mapError(({ faults }) => new InvalidInput({ faults: settingsPointers(faults) })),
    )
    taken.push(id)
    return yield* templates.create(org.slug, input)
  })
  const made = yield* create.pipe(
    Effect.retry({ times: 20, while: ({ _tag }) => _tag === "AlreadyExists" && written === "" }),
    Effect.catchTag(
      "AlreadyExists",
      () => new InvalidInput({ faults: [{ pointer: "/id", detail: t`is taken: choose another` }] }),
    ),
  )
  const path = templatePath(org.slug, made.id)
  const layout = layoutOf(fields["layout"])
  return { to: layout === undefined ? path : `${path}/new-variant?layout=${layout.id}`, done: "template-created" }
})

/** Creating a template. */
export const layer = pages(({ form }) => [
  ...form("/console/o/:org/templates/-/new", "createTemplate", create, newAction),
])
