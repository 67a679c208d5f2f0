// deno-lint-ignore-file jsx-key -- rendered once, on the server
/** @jsxImportSource preact */
import { Effect, Result } from "effect"
import { HttpRouter } from "effect/http"
import { type Fault, InvalidInput } from "../../../domain/Errors.ts"
import type { Template } from "../../../domain/Template.ts"
import { lookedUp } from "../../../http/Requests.ts"
import { Learning } from "../../../learning/Learning.ts"
import * as TemplateFile from "../../../templates/TemplateFile.ts"
import { type Located, read } from "../../../templates/TemplateFileSource.ts"
import { Templates } from "../../../templates/Templates.ts"
import { assets } from "../../Assets.ts"
import { Card } from "../../components/Card.tsx"
import { Form, Submit } from "../../components/Form.tsx"
import { Note } from "../../components/Note.tsx"
import { PageHead } from "../../components/PageHead.tsx"
import { Table } from "../../components/Table.tsx"
import { Console, type Fields, type Visit } from "../../Routes.tsx"
import { importPath, listPath, templatePath } from "./Paths.ts"
import { download, RawRoutes } from "../../RawRoutes.tsx"
import { counted } from "./Words.ts"

// Templates as files: in by a text area, out as a download.

/** Templates read at once while all are written to a file. */
const batch = 200

/** Faults shown of a file. */
const shownFaults = 100

/** A fault's line travels in its pointer: `/text/12/3` is line 12, column 3. */
const pointerAt = (line: number, column: number) => `/text/${line}/${column}`

/** Where what a pointer such as `/templates/0/variants/1/vars/subject` names was written. */
const linesOf = (text: string) => {
  const { positionOf, root } = read(text)
  return ({ detail, pointer }: Fault): Fault => {
    let located: Located | undefined = root
    let offset = root?.offset ?? 0
    const segments = pointer.split("/").slice(1).map((one) => one.replaceAll("~1", "/").replaceAll("~0", "~"))
    for (const segment of segments) {
      const member = located?.members?.get(segment)
      if (member === undefined) break
      // A member is pointed to at its name, an element at itself.
      offset = Array.isArray(located?.value) ? member.at.offset : member.keyOffset
      located = member.at
    }
    const { column, line } = positionOf(offset)
    return { pointer: pointerAt(line, column), detail: `${segments.slice(4).join(" ")}: ${detail}` }
  }
}

const example = `templates:
  - id: welcome
    name: Welcome
    variants:
      - id: warm
        vars:
          subject: "Good to see you, {{ first_name | default: 'friend' }}"
          body_html: <p>Hello</p>
        formats: {body_html: html}`

export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { action, page } = yield* Console
  const { route } = yield* RawRoutes
  const learning = yield* Learning
  const templates = yield* Templates

  const form = (visit: Visit, fields: Fields = {}, faults: ReadonlyArray<Fault> = []) => {
    const text = (fields["text"] ?? "").replaceAll("\r\n", "\n")
    const lines = text.split("\n")
    return Effect.succeed({
      title: "Import templates",
      body: (
        <>
          <PageHead
            title="Import templates"
            back={{ href: listPath(visit.org.slug), label: "Templates" }}
            lead="A file in YAML or JSON brings templates to the state it describes, all or none. Variants that it does not name stay as they are."
          />
          {faults.length === 0 ? null : (
            <div class="note bad" role="alert" tabIndex={-1} data-focus>
              <h2>Nothing was imported: {counted(faults.length, "thing")} to correct</h2>
            </div>
          )}
          {faults.length === 0 ? null : (
            <Card kind="flush">
              <Table
                caption={faults.length > shownFaults ? `The first ${shownFaults} faults by line` : "Faults by line"}
                headings={["Place", "What is wrong", "The line"]}
                rows={faults.slice(0, shownFaults).map(({ detail, pointer }) => {
                  const [, , line = "1", column = "1"] = pointer.split("/")
                  return [
                    `line ${line}, column ${column}`,
                    detail,
                    <code>{(lines[Number(line) - 1] ?? "").trim().slice(0, 120)}</code>,
                  ]
                })}
              />
            </Card>
          )}
          <Card>
            <Form action={importPath(visit.org.slug)} csrf={visit.session.csrfToken}>
              <div class="field" data-upload hidden>
                <label for="file">A file from this computer</label>
                <input type="file" id="file" accept=".yaml,.yml,.json" data-into="text" />
              </div>
              <div class="field">
                <label for="text">Content of the file</label>
                <p class="hint" id="text-hint">
                  Up to some 500 kB; <code>parlance template import</code> takes larger files.
                </p>
                <textarea
                  id="text"
                  name="text"
                  class="mono source"
                  rows={Math.min(30, Math.max(14, lines.length))}
                  spellcheck={false}
                  placeholder={example}
                  aria-describedby="text-hint"
                  {...(faults.length === 0 ? {} : { "aria-invalid": "true" as const })}
                >
                  {text.startsWith("\n") ? `\n${text}` : text}
                </textarea>
              </div>
              <div>
                <Submit>Import</Submit>
              </div>
            </Form>
          </Card>
          <script type="module" src={assets.templates}></script>
        </>
      ),
    })
  }

  const take = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
    const { org } = visit
    const text = (fields["text"] ?? "").replaceAll("\r\n", "\n")
    const parsed = TemplateFile.parse(text, "file")
    if (Result.isFailure(parsed)) {
      return yield* new InvalidInput({
        faults: parsed.failure.map(({ column, line, message, path }) => ({
          pointer: pointerAt(line, column),
          detail: path === "" ? message : `${path}: ${message}`,
        })),
      })
    }
    const done = yield* templates.importAll(org.slug, parsed.success).pipe(
      Effect.catchTag("InvalidInput", ({ faults }) => new InvalidInput({ faults: faults.map(linesOf(text)) })),
    )
    for (const id of done.updated) yield* learning.wake(org.slug, id, true)
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
    return {
      title: "Imported",
      body: (
        <>
          <PageHead title="The file has been imported" back={{ href: listPath(org.slug), label: "Templates" }} />
          {parsed.success.length === 0 ? <Note>It names no template.</Note> : null}
          {part("Created", done.created)}
          {part("Changed", done.updated)}
          {part("Unchanged", done.unchanged)}
        </>
      ),
    }
  })

  const file = (all: ReadonlyArray<Template>, format: string | null, name: string) => {
    const as = format === "json" ? "json" : "yaml"
    const text = TemplateFile.format(all.map(TemplateFile.inputOf), as)
    return download(text, `${name}.${as}`, as === "json" ? "application/json" : "application/yaml; charset=utf-8")
  }

  yield* router.addAll([
    page("/console/o/:org/templates/-/import", "importTemplates", (visit) => form(visit)),
    action("/console/o/:org/templates/-/import", "importTemplates", take, form),
    route("GET", "/console/o/:org/templates/-/export", "listTemplates", ({ org, query }) =>
      Effect.gen(function* () {
        const all: Array<Template> = []
        let after: string | undefined
        while (true) {
          const page = yield* templates.list(org.slug, { after, limit: batch, which: "all" })
          all.push(...page)
          after = page.at(-1)?.id
          if (page.length < batch) break
        }
        return file(all, query.get("format"), `${org.slug}-templates`)
      })),
    route(
      "GET",
      "/console/o/:org/templates/:template/export",
      "getTemplate",
      ({ org, params, query }) =>
        Effect.map(
          templates.get(org.slug, lookedUp(params["template"] ?? "")),
          (template) => file([template], query.get("format"), template.id.replaceAll(/[^A-Za-z0-9._-]/g, "_")),
        ),
    ),
  ])
}))
