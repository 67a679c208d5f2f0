import { Effect, Schema } from "effect"
import { noteNothing } from "../../../accounts/Audit.ts"
import { Checking } from "../../../checking/Checking.ts"
import { type Fault, InvalidInput } from "../../../domain/Errors.ts"
import type { OrgSlug } from "../../../domain/Ids.ts"
import type { Template } from "../../../domain/Template.ts"
import { Learning } from "../../../learning/Learning.ts"
import { isCopyCsv } from "../../../templates/CopyCsv.ts"
import * as TemplateFile from "../../../templates/TemplateFile.ts"
import { type Imported, TemplateImports } from "../../../templates/TemplateImports.ts"
import { snippetsForFile } from "../../../domain/Snippet.ts"
import { t } from "../../../languages/Language.ts"
import { Snippets } from "../../../templates/Snippets.ts"
import { Templates } from "../../../templates/Templates.ts"
import { withWarnings } from "../../../store/WarningTrail.ts"
import { assets } from "../../Assets.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { Form, Submit } from "../../components/Form.tsx"
import { Note } from "../../components/Note.tsx"
import { Table } from "../../components/Table.tsx"
import { checked, formFields, lines } from "../../FormReaders.ts"
import type { Fields, Visit } from "../../Routes.tsx"
import { DifferenceView } from "../history/ChangeList.tsx"
import { importPath, listPath, templatePath } from "./Paths.ts"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import { download } from "../../RawRoutes.tsx"
import { counted } from "../../Format.ts"

// Templates as files: in by a text area, out as a download.

/** Templates read at once while all are written to a file. */
const batch = 200

/** Variants written to a file at once. */
const maxPart = 1_000

/** Templates in parts of at most 1,000 variants, or of one template. */
const partsOf = (all: ReadonlyArray<Template>): ReadonlyArray<ReadonlyArray<Template>> => {
  const parts: Array<Array<Template>> = [[]]
  let variants = 0
  for (const template of all) {
    variants += template.variants.length + 1
    if (variants > maxPart && parts.at(-1)!.length > 0) {
      parts.push([])
      variants = template.variants.length + 1
    }
    parts.at(-1)!.push(template)
  }
  return parts
}

/** The checking process was stopped while it wrote templates to a file. */
class ExportTooLarge extends Schema.TaggedError<ExportTooLarge>()("ExportTooLarge", {}) {
  override get message() {
    return t`The templates are too large to be exported here. Export fewer at a time, or use \`parlance template
      export\`.`
  }
}

/** Faults shown of a file. */
const shownFaults = 100

/** A fault's line travels in its pointer: `/text/12/3` is line 12, column 3. */
const pointerAt = (line: number, column: number) => `/text/${line}/${column}`

const example = `templates:
  - id: welcome
    name: Welcome
    variants:
      - id: warm
        vars:
          subject: "Good to see you, {{ first_name | default: 'friend' }}"
          body: <p>Hello</p>
        formats: {body: html}`

const importFields = formFields({ text: lines, edit: checked, preview: checked })

const importForm = (visit: Visit, fields: Fields = {}, faults: ReadonlyArray<Fault> = []) => {
  const { text } = importFields(fields)
  const textLines = text.split("\n")
  return Effect.succeed(view(
    {
      title: t`Import templates`,
      back: { href: listPath(visit.org.slug), label: t`Templates` },
      lead: t`A YAML or JSON file creates and updates templates. A CSV file with the columns template, variant,
        subject, preheader and body changes copy. Either the whole file is imported or nothing. Variants
        that the file does not name stay unchanged.`,
    },
    faults.length !== 0 && (
      <div class="note bad" role="alert" tabIndex={-1} data-focus>
        <h2>{t`Nothing was imported: ${counted(faults.length, "thing")} to correct`}</h2>
      </div>
    ),
    faults.length !== 0 && (
      <Card kind="flush">
        <Table
          cards="labelled"
          caption={faults.length > shownFaults ? t`The first ${shownFaults} faults by line` : t`Faults by line`}
          headings={[t`Place`, t`Fault`, t`The line`]}
          rows={faults.slice(0, shownFaults).map(({ detail, pointer }) => {
            const [, kind, line = "1", column = "1"] = pointer.split("/")
            if (kind === "csv") {
              return [detail.slice(0, detail.indexOf(": ")), detail.slice(detail.indexOf(": ") + 2), ""]
            }
            return [
              t`line ${line}, column ${column}`,
              detail,
              <code>{(textLines[Number(line) - 1] ?? "").trim().slice(0, 120)}</code>,
            ]
          })}
        />
      </Card>
    ),
    <Card>
      <Form action={importPath(visit.org.slug)}>
        <div class="field" data-upload hidden>
          <label for="file">{t`A file from this computer`}</label>
          <input type="file" id="file" accept=".yaml,.yml,.json,.csv" data-into="text" />
        </div>
        <div class="field">
          <label for="text">{t`Content of the file`}</label>
          <p class="hint" id="text-hint">
            {t`Up to 8 MiB, 1,000 templates and 2,000 variants.`}
          </p>
          <textarea
            id="text"
            name="text"
            class="mono source"
            rows={Math.min(30, Math.max(14, textLines.length))}
            spellcheck={false}
            placeholder={example}
            aria-describedby="text-hint"
            {...(faults.length === 0 ? {} : { "aria-invalid": "true" as const })}
          >
            {text.startsWith("\n") ? `\n${text}` : text}
          </textarea>
        </div>
        <div class="buttons">
          <button type="submit" name="preview" value="true" class="button primary">{t`Show changes`}</button>
          <Submit kind="plain">{t`Import`}</Submit>
        </div>
      </Form>
    </Card>,
    <script type="module" src={assets.templates}></script>,
  ))
}

/** Templates whose changes a preview shows. */
const shownTemplates = 50

/** Warnings about the content of a file, at their places. */
const warningCard = (warnings: ReadonlyArray<Fault>) =>
  warnings.length !== 0 && (
    <Card title={t`Warnings: ${warnings.length}`}>
      <ul class="finding-list">
        {warnings.slice(0, shownFaults).map(({ detail, pointer }) => (
          <li>
            <Badge kind="warn">{t`check`}</Badge> <b>{pointer}</b> {detail}
          </li>
        ))}
      </ul>
    </Card>
  )

/** The changes that an import would make, with its warnings and the file to import. */
const previewOf = (
  { org }: Visit,
  text: string,
  { changes, unchanged }: Imported,
  warnings: ReadonlyArray<Fault>,
) =>
  view(
    {
      title: t`Changes of the file`,
      back: { href: importPath(org.slug), label: t`Import templates` },
      lead: t`${
        counted(changes.length, "template")
      } to create or change, ${unchanged.length} unchanged. Nothing has been imported yet.`,
    },
    warningCard(warnings),
    changes.slice(0, shownTemplates).map(({ outcome, template_id, ...difference }) => (
      <Card title={outcome === "created" ? t`Create ${template_id}` : t`Change ${template_id}`}>
        <DifferenceView changes={difference} />
      </Card>
    )),
    changes.length > shownTemplates && (
      <Note>
        {counted(
          changes.length - shownTemplates,
          "more template will be created or changed.",
          "more templates will be created or changed.",
        )}
      </Note>
    ),
    <Card>
      <Form action={importPath(org.slug)}>
        <input type="hidden" name="text" value={text} />
        <div class="buttons">
          {changes.length !== 0 && <Submit>{t`Import`}</Submit>}
          <button type="submit" name="edit" value="true" class="button plain">{t`Edit file`}</button>
        </div>
      </Form>
    </Card>,
  )

const take = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { org } = visit
  const { edit, preview: isPreview, text } = importFields(fields)
  if (edit) return yield* Effect.andThen(noteNothing, importForm(visit, fields))
  const imports = yield* TemplateImports
  const importing: Effect.Effect<
    Imported,
    Effect.Error<ReturnType<typeof imports.importCopy>> | Effect.Error<ReturnType<typeof imports.importFile>>
  > = isCopyCsv(text)
    ? imports.importCopy(org.slug, text, { dryRun: isPreview })
    : imports.importFile(org.slug, text, { dryRun: isPreview })
  const { value: done, warnings } = yield* withWarnings(importing).pipe(
    Effect.catchTag("FileRefused", ({ faults }) =>
      new InvalidInput({
        faults: faults.map(({ column, line, message, path }) => ({
          pointer: pointerAt(line, column),
          detail: path === "" ? message : `${path}: ${message}`,
        })),
      })),
  )
  if (isPreview) return yield* Effect.as(noteNothing, previewOf(visit, text, done, warnings))
  const isEmpty = done.created.length + done.updated.length + done.unchanged.length === 0
  for (const id of done.relearned) yield* (yield* Learning).wake(org.slug, id, true)
  const part = (title: string, ids: ReadonlyArray<string>) =>
    ids.length === 0 ? null : (
      <Card title={`${title}: ${ids.length}`}>
        <ul class="plain-list">
          {ids.map((id) => (
            <li>
              <a href={templatePath(org.slug, id)}>{id}</a>
            </li>
          ))}
        </ul>
      </Card>
    )
  return view(
    {
      document: t`Imported`,
      title: t`The file has been imported`,
      back: { href: listPath(org.slug), label: t`Templates` },
    },
    isEmpty && <Note>{t`The file contains no templates.`}</Note>,
    warningCard(warnings),
    part(t`Created`, done.created),
    part(t`Changed`, done.updated),
    part(t`Unchanged`, done.unchanged),
    done.snippets.length > 0 && (
      <Card title={t`Snippets: ${done.snippets.length}`}>
        <ul class="plain-list">
          {done.snippets.map(({ id, proposed }) => (
            <li>
              <a href={`/console/o/${org.slug}/snippets/${id}`}>{id}</a>
              {proposed && ` ${t`waits for approval`}`}
            </li>
          ))}
        </ul>
      </Card>
    ),
  )
})

/** Templates as a file. Written in the checking process, in parts of at most 1,000 variants. */
const file = Effect.fnUntraced(
  function* (org: OrgSlug, all: ReadonlyArray<Template>, format: string | null, name: string) {
    const checking = yield* Checking
    const as = format === "json" ? "json" : "yaml"
    const snippets = snippetsForFile(yield* (yield* Snippets).list(org), all)
    const write = (part: ReadonlyArray<Template>, index: number) =>
      checking.run(org, "format", {
        templates: part.map(TemplateFile.inputOf),
        snippets: index === 0 ? snippets : [],
        as,
      })
    const text = TemplateFile.joined(yield* Effect.forEach(partsOf(all), write), as)
    return download(text, `${name}.${as}`, as === "json" ? "application/json" : "application/yaml; charset=utf-8")
  },
  Effect.catchTag("WorkFailed", () => new ExportTooLarge()),
)

/** The import and the export of template files. */
export const layer = pages(({ form, route }) => [
  ...form("/console/o/:org/templates/-/import", "importTemplates", importForm, take),
  route("GET", "/console/o/:org/templates/-/export", "listTemplates", ({ org, query }) =>
    Effect.gen(function* () {
      const all: Array<Template> = []
      let cursor: string | undefined
      while (true) {
        const page = yield* (yield* Templates).list(org.slug, { cursor, limit: batch, which: "all" })
        all.push(...page)
        cursor = page.at(-1)?.id
        if (page.length < batch) break
      }
      return yield* file(org.slug, all, query.get("format"), `${org.slug}-templates`)
    })),
  route(
    "GET",
    "/console/o/:org/templates/:template/export",
    "getTemplate",
    ({ org, params, query }) =>
      Effect.flatMap(
        Templates.use((templates) => templates.get(org.slug, params["template"] ?? "")),
        (template) => file(org.slug, [template], query.get("format"), template.id.replaceAll(/[^A-Za-z0-9._-]/g, "_")),
      ),
  ),
])
