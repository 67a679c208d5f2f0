// deno-lint-ignore-file jsx-key -- rendered once, on the server
/** @jsxImportSource preact */
import { Clock, Effect, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { Audit, type AuditEntry } from "../../../accounts/Audit.ts"
import { ChangeHistory } from "../../../accounts/ChangeHistory.ts"
import { type AlreadyExists, type Fault, InvalidInput, type OrganizationNotFound } from "../../../domain/Errors.ts"
import { decoder } from "../../../domain/Faults.ts"
import { TemplateId } from "../../../domain/Ids.ts"
import { type Template, TemplatePatch } from "../../../domain/Template.ts"
import { lookedUp } from "../../../http/Requests.ts"
import { Learning } from "../../../learning/Learning.ts"
import { Traffic, trafficDays } from "../../../results/Traffic.ts"
import * as Seasonality from "../../../templates/Seasonality.ts"
import * as TemplateFile from "../../../templates/TemplateFile.ts"
import { Templates } from "../../../templates/Templates.ts"
import { Card } from "../../components/Card.tsx"
import { Confirm } from "../../components/Confirm.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Form, Submit } from "../../components/Form.tsx"
import { ErrorSummary } from "../../components/Note.tsx"
import { PageHead } from "../../components/PageHead.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { Console, decoded, type Fields, type Visit } from "../../Routes.tsx"
import { listPath, templatePath, variantPath } from "./Paths.ts"
import { sampleFields } from "./SampleFields.ts"
import { SettingsFields, settingsInput, settingsLabels, settingsOf, settingsPointers } from "./SettingsFields.tsx"
import { Sparkline } from "./Sparkline.tsx"
import { VariantCard } from "./VariantCard.tsx"
import { counted, objectiveText } from "./Words.ts"

const variantsPerPage = 12
const changesShown = 8
const changesPerPage = 50

/** Copies of one template that find an id by themselves. */
const maxCopies = 50

const decodePatch = decoder(TemplatePatch)

/** What an entry says was done, in a few words. */
const deed = ({ action, details }: AuditEntry): string => {
  const members = Object.keys(details)
  if (action === "variant changed" && members.length === 1 && members[0] === "active") {
    return String(details["active"]) === "true" ? "variant switched on" : "variant switched off"
  }
  if (details["duplicated"] === "true") return "template duplicated"
  if (details["copy_of"] !== undefined) return `template created as a copy of ${String(details["copy_of"])}`
  if (details["off"] === "true") return "all variants switched off"
  if (details["by"] === "import") return `${action} by an import`
  // The console sends a variant whole; by the API one sees what was asked for.
  return members.length === 0 || members.includes("base") || !action.endsWith("changed") || members.length > 4
    ? action
    : `${action}: ${members.join(", ").replaceAll("_", " ")}`
}

const Changes = ({ entries, template, zone }: {
  readonly entries: ReadonlyArray<AuditEntry>
  readonly template: Template
  readonly zone: string
}) => {
  const names = new Map<string, string>(template.variants.map(({ id, name }) => [id, name]))
  return (
    <Table
      caption="Changes, newest first"
      headings={["What", "Who", "When"]}
      rows={entries.map((entry) => {
        const variant = entry.subject.slice(template.id.length + " / ".length)
        return [
          <>
            {deed(entry)}
            {variant === "" ? null : <span class="sub">{names.get(variant) ?? variant}</span>}
          </>,
          entry.actor,
          { kind: "nowrap", content: <Time at={entry.at} zone={zone} /> },
        ]
      })}
    />
  )
}

/** What a query says the sample fields are: their text as given, and what it means if it is a JSON object. */
const given = (
  text: string | null,
): { readonly text: string; readonly fields: Record<string, unknown> } | undefined => {
  if (text === null) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === "object" && !Array.isArray(value)
      ? { text, fields: value as Record<string, unknown> }
      : undefined
  } catch {
    return undefined
  }
}

/** One template: its variants side by side, its settings, and what was changed of it. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { action, page } = yield* Console
  const audit = yield* Audit
  const history = yield* ChangeHistory
  const learning = yield* Learning
  const templates = yield* Templates
  const traffic = yield* Traffic

  const idOf = ({ params }: Visit) => lookedUp(params["template"] ?? "")
  const get = (visit: Visit) => templates.get(visit.org.slug, idOf(visit))
  const home = (visit: Visit) => templatePath(visit.org.slug, idOf(visit))

  const actions = (visit: Visit, template: Template, at: number) => {
    const variant = template.variants[at]!
    const base = variantPath(visit.org.slug, template.id, variant.id)
    const { can, session: { csrfToken } } = visit
    const { active, name } = variant
    return (
      <div class="buttons">
        <a class="button compact" href={base} aria-label={`${can("updateVariant") ? "Edit" : "Open"} ${name}`}>
          {can("updateVariant") ? "Edit" : "Open"}
        </a>
        {can("updateVariant")
          ? (
            <Form action={`${base}/state`} csrf={csrfToken} inline>
              <input type="hidden" name="active" value={active ? "false" : "true"} />
              <Submit kind="compact" label={`Switch ${active ? "off" : "on"} ${name}`}>
                Switch {active ? "off" : "on"}
              </Submit>
            </Form>
          )
          : null}
        {can("createVariant")
          ? (
            <Form action={`${base}/duplicate`} csrf={csrfToken} inline>
              <Submit kind="compact" label={`Duplicate ${name}`}>Duplicate</Submit>
            </Form>
          )
          : null}
        {can("deleteVariant")
          ? <a class="button compact danger" href={`${base}/delete`} aria-label={`Delete ${name}`}>Delete</a>
          : null}
      </div>
    )
  }

  const show = Effect.fnUntraced(function* (visit: Visit) {
    const { can, org, query } = visit
    const template = yield* get(visit)
    const here = templatePath(org.slug, template.id)
    const now = yield* Clock.currentTimeMillis
    const entries = yield* history.ofTemplate(org.slug, template.id, { limit: changesShown + 1 })
    const shares = yield* traffic.byVariant(org.slug, template.id)
    const days = (yield* traffic.daily(org.slug, [template.id])).get(template.id) ?? []
    const all = [...shares.values()].reduce((sum, count) => sum + count, 0)

    const asked = query.get("fields")
    const fromQuery = given(asked)
    const fields = fromQuery?.fields ?? sampleFields(template.variants.map(({ vars }) => vars))
    const fieldsText = fromQuery?.text ?? JSON.stringify(fields, null, 2)
    const isFaulty = asked !== null && fromQuery === undefined

    const pages = Math.max(1, Math.ceil(template.variants.length / variantsPerPage))
    const at = template.variants.findIndex(({ id }) => id === query.get("at"))
    const wanted = at >= 0 ? Math.floor(at / variantsPerPage) + 1 : Number(query.get("page") ?? "1")
    const number = Number.isInteger(wanted) && wanted >= 1 && wanted <= pages ? wanted : 1
    const first = (number - 1) * variantsPerPage
    const link = (page: number) =>
      `${here}?${new URLSearchParams({
        ...(fromQuery === undefined ? {} : { fields: fromQuery.text }),
        page: `${page}`,
      })}`

    const create = can("createVariant") ? <a class="button primary" href={`${here}/new-variant`}>New variant</a> : null
    return {
      title: template.name,
      body: (
        <>
          <PageHead
            title={template.name}
            back={{ href: listPath(org.slug), label: "Templates" }}
            lead={
              <>
                Your systems ask for it as <code>{template.id}</code>.
              </>
            }
            actions={
              <>
                {template.variants.length === 0 ? null : create}
                <a class="button" href={`${here}/results`}>Results</a>
                {can("updateTemplate") ? <a class="button" href={`${here}/settings`}>Settings</a> : null}
                <a class="button" href={`${here}/export`}>Export</a>
              </>
            }
          />
          <Card>
            <dl class="template-facts">
              <div>
                <dt>Learns from</dt>
                <dd>{objectiveText(template.objective)}</dd>
              </div>
              <div>
                <dt>Decisions, {trafficDays} days</dt>
                <dd>
                  <Sparkline days={days} what="decision" />
                </dd>
              </div>
              <div>
                <dt>Same variant again</dt>
                <dd>
                  {template.sticky_hours === 0 ? "chosen anew" : `kept for ${counted(template.sticky_hours, "hour")}`}
                </dd>
              </div>
              <div>
                <dt>Unknown variables</dt>
                <dd>{template.strict ? "an error (strict)" : "render as nothing"}</dd>
              </div>
              <div>
                <dt>Links tracked</dt>
                <dd>{template.link_domains.length === 0 ? "none" : template.link_domains.join(", ")}</dd>
              </div>
              <div>
                <dt>Changed</dt>
                <dd>
                  <Time at={template.updated_at} zone={org.time_zone} />
                </dd>
              </div>
            </dl>
          </Card>
          <section class="stack" aria-label="Variants">
            <div class="section-head">
              <h2>{counted(template.variants.length, "variant")}</h2>
              {template.variants.length === 0 ? null : (
                <details class="samples" open={isFaulty}>
                  <summary>Sample fields</summary>
                  <form method="get" action={here} class="stack">
                    <div class="field">
                      <label for="fields">Sample fields</label>
                      <p class="hint" id="fields-hint">
                        A JSON object. Made up from the names that the variants use, until you write your own.
                      </p>
                      <textarea
                        id="fields"
                        name="fields"
                        class="mono"
                        rows={8}
                        spellcheck={false}
                        aria-describedby={isFaulty ? "fields-hint fields-error" : "fields-hint"}
                        {...(isFaulty ? { "aria-invalid": "true" as const } : {})}
                      >
                        {isFaulty ? asked : fieldsText}
                      </textarea>
                      {isFaulty
                        ? <p class="error" id="fields-error">Sample fields must be a JSON object; not used.</p>
                        : null}
                    </div>
                    <div>
                      <button type="submit" class="button compact">Show with these</button>
                    </div>
                  </form>
                </details>
              )}
            </div>
            {template.variants.length === 0
              ? (
                <Card kind="flush">
                  <Empty title="This template says nothing yet" action={create}>
                    {can("createVariant")
                      ? "Write its first variant. With two or more, Parlance finds out which does best for whom."
                      : "An editor of the organization can write its variants."}
                  </Empty>
                </Card>
              )
              : (
                <ul class="variants">
                  {template.variants.slice(first, first + variantsPerPage).map((variant, index) => (
                    <VariantCard
                      org={org}
                      variant={variant}
                      base={variantPath(org.slug, template.id, variant.id)}
                      strict={template.strict}
                      inSeason={Seasonality.compile(variant.seasons, org.time_zone).holds(now)}
                      fields={fields}
                      fieldsText={fieldsText}
                      now={now}
                      decisions={shares.get(variant.id) ?? 0}
                      share={all === 0 ? undefined : (shares.get(variant.id) ?? 0) / all}
                      actions={actions(visit, template, first + index)}
                    />
                  ))}
                </ul>
              )}
            {pages === 1 ? null : (
              <nav class="pagination" aria-label="Pages of the variants">
                {number === 1 ? null : <a class="button compact" href={link(number - 1)} rel="prev">Previous</a>}
                <span class="small muted">Page {number} of {pages}</span>
                {number === pages ? null : <a class="button compact" href={link(number + 1)} rel="next">Next</a>}
              </nav>
            )}
          </section>
          <Card kind="flush">
            {entries.length === 0
              ? <Empty title="No change is on record">From now on every change is listed here, with who made it.</Empty>
              : <Changes entries={entries.slice(0, changesShown)} template={template} zone={org.time_zone} />}
            {entries.length <= changesShown ? null : (
              <nav class="pagination" aria-label="More changes">
                <a class="button compact" href={`${here}/history`}>All changes</a>
              </nav>
            )}
          </Card>
        </>
      ),
    }
  })

  const changes = Effect.fnUntraced(function* (visit: Visit) {
    const { org, query } = visit
    const template = yield* get(visit)
    const here = templatePath(org.slug, template.id)
    const asked = Number(query.get("before") ?? "")
    const before = Number.isSafeInteger(asked) && asked > 0 ? asked : undefined
    const entries = yield* history.ofTemplate(org.slug, template.id, { before, limit: changesPerPage })
    return {
      title: `Changes of ${template.name}`,
      body: (
        <>
          <PageHead title={`Changes of ${template.name}`} back={{ href: here, label: template.name }} />
          <Card kind="flush">
            {entries.length === 0
              ? <Empty title="No change is on record">Changes are listed from the first one on.</Empty>
              : <Changes entries={entries} template={template} zone={org.time_zone} />}
            {before === undefined && entries.length < changesPerPage
              ? null
              : (
                <nav class="pagination" aria-label="Pages of the changes">
                  {before === undefined ? null : <a class="button compact" href={`${here}/history`}>Newest</a>}
                  {entries.length < changesPerPage
                    ? null
                    : (
                      <a class="button compact" href={`${here}/history?before=${entries.at(-1)!.id}`} rel="next">
                        Older
                      </a>
                    )}
                </nav>
              )}
          </Card>
        </>
      ),
    }
  })

  const settings = Effect.fnUntraced(function* (visit: Visit, fields?: Fields, faults: ReadonlyArray<Fault> = []) {
    const template = yield* get(visit)
    return {
      title: `Settings of ${template.name}`,
      body: (
        <>
          <PageHead
            title={`Settings of ${template.name}`}
            back={{ href: home(visit), label: template.name }}
            lead={
              <>
                Id <code>{template.id}</code>
              </>
            }
          />
          <ErrorSummary faults={faults} labels={settingsLabels} />
          <Card>
            <Form action={`${home(visit)}/settings`} csrf={visit.session.csrfToken}>
              <SettingsFields fields={fields ?? settingsOf(template)} faults={faults} />
              <div>
                <Submit>Save settings</Submit>
              </div>
            </Form>
          </Card>
          <Card
            title="Copy or retire"
            lead="A copy has an id of its own and the same variants. A template whose variants are all off is sent to nobody and keeps its results."
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
              {visit.can("updateVariant") && template.variants.some(({ active }) => active)
                ? (
                  <Form action={`${home(visit)}/off`} csrf={visit.session.csrfToken} inline>
                    <input type="hidden" name="off" value="true" />
                    <Submit kind="plain">Switch all variants off</Submit>
                  </Form>
                )
                : null}
            </div>
          </Card>
          {visit.can("deleteTemplate")
            ? (
              <Card title="Delete this template" lead="With its variants. Decisions already made stay.">
                <a class="button danger" href={`${home(visit)}/delete`}>Delete the template</a>
              </Card>
            )
            : null}
        </>
      ),
    }
  })

  const save = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
    const patch = yield* decoded(decodePatch(settingsInput(fields))).pipe(
      Effect.mapError(({ faults }) => new InvalidInput({ faults: settingsPointers(faults) })),
    )
    const before = yield* get(visit)
    const after = yield* templates.update(visit.org.slug, before.id, patch)
    // What is learned from has changed: the model follows without waiting for new events.
    if (JSON.stringify(after.objective) !== JSON.stringify(before.objective)) {
      yield* learning.wake(visit.org.slug, before.id, true)
    }
    return { to: home(visit), done: "template-saved" }
  })

  /** A template like this one under an id that is free. */
  const duplicate = Effect.fnUntraced(function* (visit: Visit) {
    const { org } = visit
    const { id, name, ...input } = TemplateFile.inputOf(yield* get(visit))
    const copy = (number: number): Effect.Effect<Template, OrganizationNotFound | AlreadyExists | InvalidInput> =>
      Effect.gen(function* () {
        const end = number === 1 ? "-copy" : `-copy-${number}`
        const wanted = yield* Schema.decodeEffect(TemplateId)(`${(id ?? "").slice(0, 200 - end.length)}${end}`)
        return yield* templates.create(org.slug, { ...input, id: wanted, name: `Copy of ${name}`.slice(0, 200) })
      }).pipe(
        Effect.catchTag("SchemaError", Effect.die),
        Effect.catchTag("AlreadyExists", (error) => number < maxCopies ? copy(number + 1) : Effect.fail(error)),
      )
    const made = yield* copy(1)
    yield* audit.record({
      actor: visit.actor,
      endpoint: "createTemplate",
      params: { org: org.slug, template: made.id },
      body: { copy_of: id },
    })
    return { to: templatePath(org.slug, made.id), done: "template-duplicated" }
  })

  /** Switches off every variant, all or none. */
  const retire = Effect.fnUntraced(function* (visit: Visit) {
    const template = yield* get(visit)
    const { variants = [], ...input } = TemplateFile.inputOf(template)
    yield* templates.importAll(visit.org.slug, [{
      ...input,
      variants: variants.map((variant) => ({ ...variant, active: false })),
    }])
    return { to: home(visit), done: "template-off" }
  })

  const confirm = Effect.fnUntraced(function* (visit: Visit) {
    const { name, variants } = yield* get(visit)
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
              cannot be brought back; systems that ask for it get the answer that it does not exist. Decisions already
              made stay.
            </p>
            {active === 0 ? null : <p>{counted(active, "variant is", "variants are")} switched on.</p>}
            <p class="muted">
              <a href={`${home(visit)}/export`}>Export it first</a>{" "}
              to be able to import it again, or switch its variants off instead.
            </p>
          </Confirm>
        </>
      ),
    }
  })

  yield* router.addAll([
    page("/console/o/:org/templates/:template", "getTemplate", show),
    page("/console/o/:org/templates/:template/history", "templateHistory", changes),
    page("/console/o/:org/templates/:template/settings", "updateTemplate", (visit) => settings(visit)),
    action("/console/o/:org/templates/:template/settings", "updateTemplate", save, settings),
    action("/console/o/:org/templates/:template/duplicate", "createTemplate", duplicate),
    action("/console/o/:org/templates/:template/off", "updateTemplate", retire),
    page("/console/o/:org/templates/:template/delete", "deleteTemplate", confirm),
    action(
      "/console/o/:org/templates/:template/delete",
      "deleteTemplate",
      Effect.fnUntraced(function* (visit) {
        yield* templates.remove(visit.org.slug, idOf(visit))
        return { to: listPath(visit.org.slug), done: "template-deleted" }
      }),
    ),
  ])
}))
