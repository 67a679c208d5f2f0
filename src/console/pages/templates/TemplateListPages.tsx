// deno-lint-ignore-file jsx-key -- rendered once, on the server
/** @jsxImportSource preact */
import { Clock, Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import type { ComponentChildren } from "preact"
import { noteNothing } from "../../../accounts/Audit.ts"
import { Deliveries } from "../../../delivery/Deliveries.ts"
import { isStorable } from "../../../domain/Attributes.ts"
import { type Fault, InvalidInput } from "../../../domain/Errors.ts"
import type { OrgSlug } from "../../../domain/Ids.ts"
import { objectiveText } from "../../../results/ObjectiveText.ts"
import { Traffic, trafficDays } from "../../../results/Traffic.ts"
import { type BatchChange, TemplateBatch } from "../../../templates/TemplateBatch.ts"
import { TemplateIndex } from "../../../templates/TemplateIndex.ts"
import { TemplateCache } from "../../../templates/TemplateCache.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Form } from "../../components/Form.tsx"
import { ListForm, ListPages, sortHeading } from "../../components/ListParts.tsx"
import { ErrorSummary } from "../../components/Note.tsx"
import { PageHead } from "../../components/PageHead.tsx"
import { RowMenu } from "../../components/RowMenu.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { count, counted } from "../../Format.ts"
import { askedIn, type AskedList, isNarrowed, pageOf } from "../../../domain/List.ts"
import { Console, type Fields, type Visit } from "../../Routes.tsx"
import { createPath, exportPath, importPath, listPath, templatePath } from "./Paths.ts"
import { Sparkline } from "./Sparkline.tsx"
import { type ListedTemplate, stateOf, templateShape } from "../../../api/templates/TemplateListShape.ts"

const pageSize = 25

/** The buttons of changes of several templates, and the messages after them. */
const batchWords: { readonly [what in BatchChange]: string } = {
  activate: "Activate all variants",
  pause: "Pause all variants",
  archive: "Archive",
  restore: "Restore",
}
const batchDone: { readonly [what in BatchChange]: string } = {
  activate: "templates-activated",
  pause: "templates-paused",
  archive: "templates-archived",
  restore: "templates-restored",
}
const batchEndpoints: { readonly [what in BatchChange]: string } = {
  activate: "updateVariant",
  pause: "updateVariant",
  archive: "updateTemplate",
  restore: "updateTemplate",
}

const batchPath = (org: OrgSlug, what: BatchChange) => `${listPath(org)}/-/${what}`

/** Services of these pages. */
interface Services {
  readonly batch: TemplateBatch["Service"]
  readonly deliveries: Deliveries["Service"]
  readonly index: TemplateIndex["Service"]
  readonly traffic: Traffic["Service"]
  readonly templateCache: TemplateCache["Service"]
}

const shape = templateShape(trafficDays)

const State = ({ at, template }: { readonly template: ListedTemplate; readonly at: string }) => {
  const { active, failed, id, variants } = template
  const badges = {
    archived: <Badge>archived</Badge>,
    "no-variants": <Badge kind="warn">no variants</Badge>,
    inactive: <Badge kind="warn">no active variant</Badge>,
    "out-of-season": <Badge kind="warn">out of season</Badge>,
    active: <Badge kind="good">{active === variants ? `${active} active` : `${active} of ${variants} active`}</Badge>,
  }
  return (
    <>
      {badges[stateOf(template)]}
      {failed === 0
        ? null
        : (
          <a class="sub failed" href={`${at}?${new URLSearchParams({ state: "failed", template_id: id })}`}>
            {counted(failed, "failed message")} in 24 hours
          </a>
        )}
    </>
  )
}

/** All templates with what is known of them elsewhere. Decisions are read for all only if the list is sorted by them. */
const listed = Effect.fnUntraced(function* (services: Services, org: OrgSlug, withDecisions: boolean) {
  const all = yield* services.index.all(org)
  const failures = yield* services.deliveries.recentFailures(org)
  const days = withDecisions ? yield* services.traffic.daily(org, all.map(({ id }) => id)) : undefined
  const now = yield* Clock.currentTimeMillis
  return all.map((template): ListedTemplate => ({
    ...template,
    // A view is some seconds behind another node at most.
    inSeason: services.templateCache.template(org, template.id)?.variants
      .filter((variant) => variant.active && variant.calendar.holds(now)).length ?? template.active,
    failed: failures.get(template.id) ?? 0,
    days: days?.get(template.id) ?? [],
  }))
})

const Menu = ({ template, visit: { can, org, session } }: {
  readonly template: ListedTemplate
  readonly visit: Visit
}) => {
  const { active, archivedAt, id, name, variants } = template
  const here = templatePath(org.slug, id)
  const change = (what: BatchChange, label: string) => (
    <li>
      <Form action={batchPath(org.slug, what)} csrf={session.csrfToken} inline>
        <input type="hidden" name="id" value={id} />
        <button type="submit">{label}</button>
      </Form>
    </li>
  )
  return (
    <RowMenu label={`Actions for ${name}`}>
      <li>
        <a href={`${here}/results`}>Results</a>
      </li>
      <li>
        <a href={`${here}/audience`}>Audience</a>
      </li>
      {can("updateTemplate")
        ? (
          <li>
            <a href={`${here}/settings`}>Settings</a>
          </li>
        )
        : null}
      {can("updateVariant") && archivedAt === null && active < variants
        ? change("activate", "Activate all variants")
        : null}
      {can("updateVariant") && archivedAt === null && active > 0 ? change("pause", "Pause all variants") : null}
      {can("updateTemplate") ? archivedAt === null ? change("archive", "Archive") : change("restore", "Restore") : null}
    </RowMenu>
  )
}

/** The form of which the boxes in the rows are a part. */
const batchForm = "batch"

const BatchBar = ({ visit: { can, org, session }, which }: {
  readonly visit: Visit
  readonly which: "archived" | "in-use"
}) =>
  !can("updateTemplate")
    ? null
    : (
      <form method="post" action={batchPath(org.slug, "archive")} id={batchForm} class="bulk-actions">
        <input type="hidden" name="_csrf" value={session.csrfToken} />
        <span class="small muted">Chosen templates:</span>
        {(which === "archived" ? ["restore"] as const : ["activate", "pause", "archive"] as const).map((what) => (
          <button type="submit" class="button compact" formAction={batchPath(org.slug, what)}>
            {batchWords[what]}
          </button>
        ))}
        <label class="small" data-choose-all={batchForm} hidden>
          <input type="checkbox" class="row-check" />Choose all on this page
        </label>
      </form>
    )

const TemplateTable = ({ all, asked, caption, canChange, here, more, shown, visit }: {
  readonly all: number
  readonly asked: AskedList
  readonly caption: string
  readonly canChange: boolean
  readonly here: string
  readonly more: Readonly<Record<string, string>>
  readonly shown: ReadonlyArray<ListedTemplate>
  readonly visit: Visit
}) => {
  const { org } = visit
  const sorted = (name: string) => sortHeading(shape, asked, { all, at: here, name, more })
  return (
    <Table
      caption={caption}
      headings={[sorted("name"), "State", sorted("decisions"), sorted("goal"), sorted("changed"), "[Actions]"]}
      rows={shown.map((template) => [
        <>
          {canChange
            ? (
              <input
                type="checkbox"
                class="row-check"
                form={batchForm}
                name="id"
                value={template.id}
                aria-label={`Choose ${template.name}`}
              />
            )
            : null}
          <span>
            <a href={templatePath(org.slug, template.id)} dir="auto">{template.name}</a>
            <span class="sub mono">{template.id}</span>
          </span>
        </>,
        { kind: "nowrap", content: <State at={`/console/o/${org.slug}/deliveries`} template={template} /> },
        { kind: "nowrap", content: <Sparkline days={template.days} what="decision" /> },
        objectiveText(template.objective),
        { kind: "nowrap", content: <Time at={template.updatedAt} zone={org.time_zone} /> },
        { kind: "actions", content: <Menu template={template} visit={visit} /> },
      ])}
    />
  )
}

const Nothing = ({ action, all, here, search, start, visit, which }: {
  readonly action: ComponentChildren
  readonly all: number
  readonly here: string
  readonly search: string
  readonly start: string
  readonly visit: Visit
  readonly which: "archived" | "in-use" | "none"
}) => {
  if (all === 0) {
    return (
      <Empty
        title="No templates yet"
        action={
          <div class="buttons">
            {action}
            {visit.can("importTemplates")
              ? <a class="button" href={importPath(visit.org.slug)}>Import a file</a>
              : null}
          </div>
        }
      >
        {visit.can("createTemplate")
          ? "Create one and add a few variants, or import a file with templates."
          : "An editor of the organization can create one."}
      </Empty>
    )
  }
  if (which === "archived") {
    return (
      <Empty title="No archived templates" action={<a class="button" href={here}>Templates in use</a>}>
        Archived templates are listed here with their results until they are restored or deleted.
      </Empty>
    )
  }
  if (which === "in-use") {
    return (
      <Empty title="Every template is archived" action={action}>
        Restore an archived template, or create a new one.
      </Empty>
    )
  }
  return (
    <Empty title="No matching templates" action={<a class="button" href={start}>Show all</a>}>
      {search === ""
        ? "Change or clear the filters."
        : `No template that the filters find has “${search}” in its name or id.`}
    </Empty>
  )
}

/** Templates in use and archived ones, with their numbers. */
const Pills = ({ archived, here, inUse, which }: {
  readonly here: string
  readonly inUse: number
  readonly archived: number
  readonly which: "archived" | "in-use"
}) => (
  <nav aria-label="Which templates">
    <ul class="pills">
      {([["in-use", "In use", here, inUse], ["archived", "Archived", `${here}?archived=true`, archived]] as const).map((
        [one, label, href, many],
      ) => (
        <li>
          <a href={href} {...(one === which ? { "aria-current": "page" as const } : {})}>{label}: {many}</a>
        </li>
      ))}
    </ul>
  </nav>
)

const list = Effect.fnUntraced(
  function* (services: Services, visit: Visit, _: Fields = {}, faults: ReadonlyArray<Fault> = []) {
    const { can, org, query } = visit
    const asked = askedIn(shape, query)
    const which = query.get("archived") === "true" ? "archived" as const : "in-use" as const
    const rows = yield* listed(services, org.slug, asked.sort === "decisions")
    const ofWhich = rows.filter(({ archivedAt }) => (archivedAt !== null) === (which === "archived"))
    const archived = which === "archived" ? ofWhich.length : rows.length - ofWhich.length
    const page = pageOf(shape, ofWhich, asked, pageSize)
    const days = yield* services.traffic.daily(org.slug, page.rows.map(({ id }) => id))
    const shown = page.rows.map((template) => ({ ...template, days: days.get(template.id) ?? [] }))
    const here = listPath(org.slug)
    const start = which === "archived" ? `${here}?archived=true` : here
    const kind = which === "archived" ? "archived template" : "template"
    const more: Readonly<Record<string, string>> = which === "archived" ? { archived: "true" } : {}
    const create = can("createTemplate")
      ? <a class="button primary" href={createPath(org.slug)}>Create a template</a>
      : null
    const caption = !isNarrowed(asked)
      ? counted(page.all, kind)
      : `${counted(page.found, kind)}${asked.search === "" ? ` of ${count(page.all)}` : ` with “${asked.search}”`}`
    return {
      title: "Templates",
      body: (
        <>
          <PageHead
            title="Templates"
            lead="A template is one message in several variants. Parlance chooses a variant for each reader and learns which one works best."
            actions={rows.length === 0 ? undefined : (
              <>
                {create}
                {can("importTemplates") ? <a class="button" href={importPath(org.slug)}>Import</a> : null}
                <a class="button" href={exportPath(org.slug)}>Export all</a>
              </>
            )}
          />
          <ErrorSummary faults={faults} />
          {archived === 0 && which === "in-use"
            ? null
            : <Pills here={here} inUse={rows.length - archived} archived={archived} which={which} />}
          <Card kind="flush">
            <ListForm
              all={ofWhich.length}
              asked={asked}
              at={here}
              start={start}
              label="Search templates"
              placeholder="Name or id"
              shape={shape}
            >
              {which === "archived" ? <input type="hidden" name="archived" value="true" /> : null}
            </ListForm>
            {page.found === 0
              ? (
                <Nothing
                  action={create}
                  all={rows.length}
                  here={here}
                  search={asked.search}
                  start={start}
                  visit={visit}
                  which={ofWhich.length === 0 ? which : "none"}
                />
              )
              : (
                <>
                  <BatchBar visit={visit} which={which} />
                  <TemplateTable
                    all={ofWhich.length}
                    asked={asked}
                    caption={caption}
                    canChange={can("updateTemplate")}
                    here={here}
                    more={more}
                    shown={shown}
                    visit={visit}
                  />
                </>
              )}
            <ListPages asked={asked} at={here} label="Pages of the templates" more={more} page={page} shape={shape} />
          </Card>
        </>
      ),
    }
  },
)

/** The most templates of one batch: more than a page has. */
const maxBatch = 100

const batchAction = (services: Services, what: BatchChange) =>
  Effect.fnUntraced(function* ({ org }: Visit, { id = "" }: Fields) {
    const ids = id.split("\n").filter((one) => one !== "" && isStorable(one)).slice(0, maxBatch)
    if (ids.length === 0) {
      return yield* new InvalidInput({ faults: [{ pointer: "", detail: "No template is chosen: tick its box first" }] })
    }
    const changed = yield* services.batch.change(org.slug, ids, what)
    const to = what === "restore" ? `${listPath(org.slug)}?archived=true` : listPath(org.slug)
    if (changed > 0) return { to, done: batchDone[what] }
    yield* noteNothing
    return { to, done: "templates-unchanged" }
  })

/** The list of templates. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { action, page } = yield* Console
  const services: Services = {
    batch: yield* TemplateBatch,
    deliveries: yield* Deliveries,
    index: yield* TemplateIndex,
    traffic: yield* Traffic,
    templateCache: yield* TemplateCache,
  }

  yield* router.addAll([
    page("/console/o/:org/templates", "findTemplates", (visit) => list(services, visit)),
    ...(["activate", "pause", "archive", "restore"] as const).map((what) =>
      action(
        `/console/o/:org/templates/-/${what}`,
        batchEndpoints[what],
        batchAction(services, what),
        (visit, fields, faults) => list(services, visit, fields, faults),
      )
    ),
  ])
})).pipe(Layer.provide(TemplateBatch.layer))
