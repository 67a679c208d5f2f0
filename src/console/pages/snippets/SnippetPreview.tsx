import { Effect } from "effect"
import { Previews } from "../../../decide/Previews.ts"
import type { Fault } from "../../../domain/Errors.ts"
import type { SnippetUser } from "../../../domain/Snippet.ts"
import type { RenderedFormat } from "../../../domain/Template.ts"
import { t } from "../../../languages/Language.ts"
import { withWarnings } from "../../../store/WarningTrail.ts"
import { Snippets } from "../../../templates/Snippets.ts"
import { Field } from "../../components/Field.tsx"
import { lines } from "../../FormReaders.ts"
import { pages } from "../../Pages.ts"
import { framed, type PageRequest } from "../../RawRoutes.tsx"
import type { Fields } from "../../Routes.tsx"
import { inTime, NotPreviewed, NotPreviewedNote } from "../templates/PreviewInTime.tsx"
import { ContentWarnings, VariableTexts } from "../templates/PreviewMail.tsx"
import { sampleFields } from "../templates/SampleFields.ts"
import { TemplatesList } from "./SnippetUsers.tsx"

// The preview of a snippet, in a frame of its page.

/** The name of the field of an argument in the form. */
const fieldName = (argument: string) => `argument_${argument}`

const isPlain = (value: unknown) => typeof value === "string" || typeof value === "number"

/** One field for each argument that a snippet uses, filled with the sent or an example value. */
export const argumentFields = (source: string, sent: Fields | undefined) => {
  const examples = Object.entries(sampleFields([{ text: source }])).filter(([, value]) => isPlain(value))
  return examples.length === 0 ? <p class="muted">{t`It uses no values.`}</p> : examples.map(([name, value]) => (
    <Field
      name={fieldName(name)}
      label={name}
      required={false}
      value={sent?.[fieldName(name)] ?? String(value)}
    />
  ))
}

/** The arguments for a preview: values from the form, and examples for all others. */
const argumentsOf = (source: string, sent: Fields): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(sampleFields([{ text: source }])).map(([name, value]) => [name, sent[fieldName(name)] ?? value]),
  )

/** What saving the text would refuse and warn of, and the templates that it would change. */
const checked = (org: PageRequest["org"], id: string, text: string, format: RenderedFormat) =>
  Snippets.use((snippets) =>
    withWarnings(
      snippets.check(org.slug, id, { text, format }).pipe(
        Effect.map((templates) => ({ templates, faults: [] as ReadonlyArray<Fault> })),
        Effect.catchTag(
          "InvalidInput",
          ({ faults }) => Effect.succeed({ templates: [] as ReadonlyArray<SnippetUser>, faults }),
        ),
      ),
    )
  )

const preview = Effect.fnUntraced(function* ({ fields, org, query, request }: PageRequest, isSent: boolean) {
  const known = query.get("snippet") ?? ""
  const stored = known === "" ? undefined : yield* (yield* Snippets).get(org.slug, known)
  const text = isSent ? lines(fields["text"]) : stored?.text ?? ""
  const format: RenderedFormat = (isSent ? fields["format"] : stored?.format) === "html" ? "html" : "text"
  const about = isSent ? yield* checked(org, known || fields["id"] || "new-snippet", text, format) : undefined
  const rendered = yield* inTime(
    (yield* Previews).render(org.slug, [{ vars: { [t`Preview`]: text }, formats: { [t`Preview`]: format } }], {
      fields: JSON.stringify(argumentsOf(text, fields)),
      strict: false,
      timeZone: org.time_zone,
    }),
  )
  if (rendered instanceof NotPreviewed) {
    return framed(request, t`Preview`, <NotPreviewedNote {...rendered} retry={undefined} />)
  }
  const [shown] = rendered
  const faults = about?.value.faults ??
    ("vars" in shown! ? [] : shown!.faults.map(({ message }) => ({ pointer: "", detail: message })))
  return framed(
    request,
    t`Preview`,
    <main class="preview">
      <h1 class="visually-hidden">{t`Preview`}</h1>
      {faults.length !== 0 && (
        <div class="note bad">
          <ul>
            {faults.map(({ detail }) => <li>{detail}</li>)}
          </ul>
        </div>
      )}
      <ContentWarnings labels={{ text: t`Text` }} warnings={about?.warnings ?? []} />
      {about !== undefined && about.value.templates.length > 0 && (
        <section aria-label={t`Templates that change`}>
          <h2>{t`Saving it changes these templates`}</h2>
          <TemplatesList base={`/console/o/${org.slug}`} templates={about.value.templates} />
        </section>
      )}
      {"vars" in shown! && <VariableTexts vars={shown.vars} formats={{ [t`Preview`]: format }} isShown={() => true} />}
    </main>,
  )
})

/** The previews of snippets. */
export const layer = pages(({ route }) => [
  route("GET", "/console/o/:org/snippets/-/preview", "checkSnippet", (ask) => preview(ask, false)),
  route("POST", "/console/o/:org/snippets/-/preview", "checkSnippet", (ask) => preview(ask, true)),
])
