// deno-lint-ignore-file jsx-key -- rendered once, on the server
/** @jsxImportSource preact */
import { Clock, Effect } from "effect"
import { HttpRouter } from "effect/http"
import { isStorable } from "../../../domain/Attributes.ts"
import { type Fault, InvalidInput } from "../../../domain/Errors.ts"
import { decoder } from "../../../domain/Faults.ts"
import { TemplateInput } from "../../../domain/Template.ts"
import { Traffic, trafficDays } from "../../../results/Traffic.ts"
import { type IndexedTemplate, TemplateIndex } from "../../../templates/TemplateIndex.ts"
import { Templates } from "../../../templates/Templates.ts"
import { TemplateCache } from "../../../templates/TemplateCache.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Field } from "../../components/Field.tsx"
import { Form, Submit } from "../../components/Form.tsx"
import { ErrorSummary } from "../../components/Note.tsx"
import { PageHead } from "../../components/PageHead.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { Console, decoded, type Fields, type Visit } from "../../Routes.tsx"
import { createPath, exportPath, importPath, listPath, templatePath } from "./Paths.ts"
import { SettingsFields, settingsInput, settingsLabels, settingsPointers } from "./SettingsFields.tsx"
import { Sparkline } from "./Sparkline.tsx"
import { counted } from "../../Format.ts"
import { objectiveText } from "../../../results/ObjectiveText.ts"

const pageSize = 25

const decodeInput = decoder(TemplateInput)

/** Services of these pages. */
interface Services {
  readonly index: TemplateIndex["Service"]
  readonly templates: Templates["Service"]
  readonly traffic: Traffic["Service"]
  readonly templateCache: TemplateCache["Service"]
}

const State = ({ org, services, template, now }: {
  readonly services: Services
  readonly org: string
  readonly template: IndexedTemplate
  readonly now: number
}) => {
  const { active, archivedAt, id, variants } = template
  if (archivedAt !== null) return <Badge>archived</Badge>
  if (variants === 0) return <Badge kind="warn">no variants</Badge>
  if (active === 0) return <Badge kind="warn">no active variant</Badge>
  // A view is some seconds behind another node at most.
  const inSeason = services.templateCache.template(org, id)?.variants
    .filter((variant) => variant.active && variant.calendar.holds(now)).length ?? active
  return inSeason === 0
    ? <Badge kind="warn">out of season</Badge>
    : <Badge kind="good">{active === variants ? `${active} active` : `${active} of ${variants} active`}</Badge>
}

const list = Effect.fnUntraced(function* (services: Services, { can, org, query }: Visit) {
  const text = (name: string) => {
    const value = (query.get(name) ?? "").trim().slice(0, 200)
    return isStorable(value) ? value : ""
  }
  const search = text("q")
  const cursor = text("cursor")
  const which = query.get("archived") === "true" ? "archived" : "in-use"
  const { all, archived, found } = yield* services.index.count(org.slug, search, which)
  const rows = yield* services.index.list(org.slug, { search, cursor, which, limit: pageSize + 1 })
  const shown = rows.slice(0, pageSize)
  const days = yield* services.traffic.daily(org.slug, shown.map(({ id }) => id))
  const now = yield* Clock.currentTimeMillis
  const here = listPath(org.slug)
  const filter: Record<string, string> = which === "archived" ? { archived: "true" } : {}
  const start = which === "archived" ? `${here}?archived=true` : here
  const link = (more: Record<string, string>) =>
    `${here}?${new URLSearchParams({ ...filter, ...(search === "" ? {} : { q: search }), ...more })}`
  const total = which === "archived" ? archived : all - archived
  const kind = which === "archived" ? "archived template" : "template"
  const create = can("createTemplate")
    ? <a class="button primary" href={createPath(org.slug)}>Create a template</a>
    : null
  return {
    title: "Templates",
    body: (
      <>
        <PageHead
          title="Templates"
          lead="A template is one message in several variants. Parlance chooses a variant for each reader and learns which one works best."
          actions={all === 0 ? undefined : (
            <>
              {create}
              {can("importTemplates") ? <a class="button" href={importPath(org.slug)}>Import</a> : null}
              <a class="button" href={exportPath(org.slug)}>Export all</a>
            </>
          )}
        />
        {all === 0 ? null : (
          <form method="get" action={here} role="search" class="search">
            {which === "archived" ? <input type="hidden" name="archived" value="true" /> : null}
            <label for="q" class="visually-hidden">Search by name or id</label>
            <input type="search" id="q" name="q" value={search} placeholder="Name or id" autocomplete="off" />
            <button type="submit" class="button">Search</button>
            {search === "" ? null : <a href={start}>Show all</a>}
          </form>
        )}
        {archived === 0 && which === "in-use" ? null : (
          <nav aria-label="Which templates">
            <ul class="pills">
              {([["In use", here, all - archived], ["Archived", `${here}?archived=true`, archived]] as const).map((
                [label, href, count],
              ) => (
                <li>
                  <a href={href} {...(href === start ? { "aria-current": "page" as const } : {})}>
                    {label}: {count}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
        )}
        <Card kind="flush">
          {all === 0
            ? (
              <Empty
                title="No templates yet"
                action={
                  <div class="buttons">
                    {create}
                    {can("importTemplates") ? <a class="button" href={importPath(org.slug)}>Import a file</a> : null}
                  </div>
                }
              >
                {can("createTemplate")
                  ? "Create one and add a few variants, or import a file with templates."
                  : "An editor of the organization can create one."}
              </Empty>
            )
            : total === 0
            ? which === "archived"
              ? (
                <Empty title="No archived templates" action={<a class="button" href={here}>Templates in use</a>}>
                  Archived templates are listed here with their results until they are restored or deleted.
                </Empty>
              )
              : (
                <Empty title="Every template is archived" action={create}>
                  Restore an archived template, or create a new one.
                </Empty>
              )
            : shown.length === 0
            ? (
              <Empty title="No matching templates" action={<a class="button" href={start}>Show all</a>}>
                No template has “{search}” in its name or id.
              </Empty>
            )
            : (
              <Table
                caption={search === "" ? counted(total, kind) : `${counted(found, kind)} with “${search}”`}
                headings={["Template", "State", `Decisions, ${trafficDays} days`, "Goal", "Changed"]}
                rows={shown.map((template) => [
                  <>
                    <a href={templatePath(org.slug, template.id)}>{template.name}</a>
                    <span class="sub mono">{template.id}</span>
                  </>,
                  {
                    kind: "nowrap",
                    content: <State services={services} org={org.slug} template={template} now={now} />,
                  },
                  { kind: "nowrap", content: <Sparkline days={days.get(template.id) ?? []} what="decision" /> },
                  objectiveText(template.objective),
                  { kind: "nowrap", content: <Time at={template.updatedAt} zone={org.time_zone} /> },
                ])}
              />
            )}
          {cursor === "" && rows.length <= pageSize
            ? null
            : (
              <nav class="pagination" aria-label="Pages of the templates">
                {cursor === "" ? null : <a class="button compact" href={link({})}>First page</a>}
                {rows.length <= pageSize
                  ? null
                  : <a class="button compact" href={link({ cursor: shown.at(-1)!.id })} rel="next">Next page</a>}
              </nav>
            )}
        </Card>
      </>
    ),
  }
})

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
          <Form action={createPath(visit.org.slug)} csrf={visit.session.csrfToken}>
            <Field
              name="id"
              label="Id"
              value={fields["id"] ?? ""}
              faults={faults}
              hint="The template_id in requests, such as cart-reminder. It cannot be changed later."
            />
            <SettingsFields fields={fields} faults={faults} />
            <div>
              <Submit>Create template</Submit>
            </div>
          </Form>
        </Card>
      </>
    ),
  })

const newAction = Effect.fnUntraced(function* (services: Services, { org }: Visit, fields: Fields) {
  const input = yield* decoded(decodeInput({ id: (fields["id"] ?? "").trim(), ...settingsInput(fields) })).pipe(
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

/** The list of templates, and making one. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { action, page } = yield* Console
  const services: Services = {
    index: yield* TemplateIndex,
    templates: yield* Templates,
    traffic: yield* Traffic,
    templateCache: yield* TemplateCache,
  }

  yield* router.addAll([
    page("/console/o/:org/templates", "findTemplates", (visit) => list(services, visit)),
    page("/console/o/:org/templates/-/new", "createTemplate", (visit) => create(visit)),
    action(
      "/console/o/:org/templates/-/new",
      "createTemplate",
      (visit, fields) => newAction(services, visit, fields),
      create,
    ),
  ])
}))
