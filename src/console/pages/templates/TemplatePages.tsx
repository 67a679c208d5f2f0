import { Clock, Effect } from "effect"
import type { AuditEntry } from "../../../accounts/Audit.ts"
import { ChangeHistory } from "../../../accounts/ChangeHistory.ts"
import { RequestNotices } from "../../../decide/RequestNotices.ts"
import { Previews } from "../../../decide/Previews.ts"
import { Connections } from "../../../delivery/Connections.ts"
import * as Json from "../../../json/Json.ts"
import type { Organization } from "../../../domain/Organization.ts"
import { type Template, TemplatePatch, type Variant } from "../../../domain/Template.ts"
import { Traffic, trafficDays } from "../../../results/Traffic.ts"
import { Drafts } from "../../../templates/Drafts.ts"
import * as Seasonality from "../../../templates/Seasonality.ts"
import { KeptResults } from "../../../results/KeptResults.ts"
import { Templates } from "../../../templates/Templates.ts"
import type { Fault } from "../../../domain/Errors.ts"
import { decoder } from "../../../domain/Faults.ts"
import { t } from "../../../languages/Language.ts"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Field } from "../../components/Field.tsx"
import { Form, PostButton, Submit } from "../../components/Form.tsx"
import { RowMenu } from "../../components/RowMenu.tsx"
import { Note } from "../../components/Note.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import { decoded, type Fields, type Visit } from "../../Routes.tsx"
import { deedOf, namesOf } from "../history/Shown.ts"
import { TemplateDraftsNote } from "./DraftNotes.tsx"
import { listPath, templatePath, variantPath } from "./Paths.ts"
import { inTime, NotPreviewed, NotPreviewedNote } from "./PreviewInTime.tsx"
import { RequestNotes } from "./RequestNotes.tsx"
import { sampleFields } from "./SampleFields.ts"
import { templateWarning } from "./SendNote.tsx"
import { Sparkline } from "./Sparkline.tsx"
import { MoreRows } from "../../components/MoreRows.tsx"
import { variantOf } from "./TemplateHistoryPages.tsx"
import { ArchivedNote } from "./ArchivedNote.tsx"
import { TemplateMenu } from "./TemplateListParts.tsx"
import { waitingNote } from "./WaitingNote.tsx"
import { cardSources, maxCardText, VariantCard } from "./VariantCard.tsx"
import { counted } from "../../Format.ts"
import { objectiveText } from "../../../results/ObjectiveText.ts"
import { settingFacts } from "./Words.ts"
import { offersSuggestions } from "./SuggestionPages.tsx"

/** Two rows of cards, so that the page is no longer than three screens. */
const variantsPerPage = 6
const changesShown = 8

const Changes = ({ entries, here, template, zone }: {
  readonly entries: ReadonlyArray<AuditEntry>
  readonly here: string
  readonly template: Template
  readonly zone: string
}) => (
  <Table
    cards="labelled"
    first={2}
    caption={t`Changes, newest first`}
    headings={[t`What`, t`Fields`, t`Who`, t`When`]}
    rows={entries.map((entry) => {
      const variant = variantOf(template)(entry)
      return [
        <>
          <a href={`${here}/history/${entry.id}`}>{deedOf(entry)}</a>
          {variant !== "" && <span class="sub">{variant}</span>}
        </>,
        entry.changes === null || entry.action.endsWith("created") ? "–" : namesOf(entry.changes),
        entry.actor,
        { kind: "nowrap", content: <Time at={entry.at} zone={zone} /> },
      ]
    })}
  />
)

/** Sample fields of a query: their text as given, and what it means if it is a JSON object. */
const given = (
  text: string | null,
): { readonly text: string; readonly fields: Record<string, unknown> } | undefined => {
  if (text === null) return undefined
  try {
    const value: unknown = Json.parse(text)
    return value !== null && typeof value === "object" && !Array.isArray(value)
      ? { text, fields: value as Record<string, unknown> }
      : undefined
  } catch {
    return undefined
  }
}

const idOf = ({ params }: Visit) => params["template"] ?? ""

const get = (visit: Visit) => Templates.use((templates) => templates.get(visit.org.slug, idOf(visit)))

const actions = (visit: Visit, template: Template, at: number) => {
  const variant = template.variants[at]!
  const base = variantPath(visit.org.slug, template.id, variant.id)
  const { can } = visit
  const { active, name } = variant
  return (
    <div class="buttons">
      <a class="button compact" href={base} aria-label={can("updateVariant") ? t`Edit ${name}` : t`Open ${name}`}>
        {can("updateVariant") ? t`Edit` : t`Open`}
      </a>
      {can("updateVariant") && (
        <PostButton
          to={`${base}/state`}
          fields={{ active: active ? "false" : "true" }}
          kind="compact"
          label={active ? t`Deactivate ${name}` : t`Activate ${name}`}
        >
          {active ? t`Deactivate` : t`Activate`}
        </PostButton>
      )}
      {(can("createVariant") || can("deleteVariant")) && (
        <RowMenu label={t`More for ${name}`}>
          {can("createVariant") && (
            <li>
              <PostButton to={`${base}/duplicate`} label={t`Duplicate ${name}`}>{t`Duplicate`}</PostButton>
            </li>
          )}
          {can("deleteVariant") && (
            <li>
              <a class="danger" href={`${base}/delete`} aria-label={t`Delete ${name}`}>{t`Delete`}</a>
            </li>
          )}
        </RowMenu>
      )}
    </div>
  )
}

/** The texts of each card, rendered together, or why they could not be. */
const textsOf = Effect.fnUntraced(
  function* (
    org: Organization,
    template: Template,
    variants: ReadonlyArray<Variant>,
    fields: string,
  ) {
    const sources = variants.map(cardSources)
    const rendered = yield* inTime((yield* Previews).render(org.slug, sources.flat(), {
      fields,
      strict: template.strict,
      timeZone: org.time_zone,
      maxText: maxCardText,
    }))
    if (rendered instanceof NotPreviewed) return rendered
    let at = 0
    return sources.map(({ length }) => rendered.slice(at, at += length))
  },
)

/** Settings and traffic of the template. */
const Facts = ({ days, org, template }: {
  readonly days: readonly number[]
  readonly org: Organization
  readonly template: Template
}) => (
  <>
    <dl class="template-facts">
      <div>
        <dt>{t`Goal`}</dt>
        <dd>{objectiveText(template.objective)}</dd>
      </div>
      <div>
        <dt>{t`Sends, ${trafficDays} days`}</dt>
        <dd>
          <Sparkline days={days} />
        </dd>
      </div>
      <div>
        <dt>{t`Owner`}</dt>
        <dd dir="auto">{template.owner ?? t`no owner`}</dd>
      </div>
      <div>
        <dt>{t`Tags`}</dt>
        <dd dir="auto">{template.tags.length === 0 ? t`none` : template.tags.join(", ")}</dd>
      </div>
      <div>
        <dt>{t`Changed`}</dt>
        <dd>
          <Time at={template.updated_at} zone={org.time_zone} />
        </dd>
      </div>
    </dl>
    <details class="more-facts">
      <summary>{t`Sending and tracking`}</summary>
      <dl class="template-facts">
        {settingFacts(template).map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  </>
)

/** The form for the fields that the variants are rendered with. */
const SampleForm = ({ fieldsParameter, fieldsText, here, isFaulty }: {
  readonly fieldsParameter: string | null
  readonly fieldsText: string
  readonly here: string
  readonly isFaulty: boolean
}) => (
  <details class="samples" open={isFaulty}>
    <summary>{t`Sample fields`}</summary>
    <form method="get" action={here} class="stack">
      <div class="field">
        <label for="fields">{t`Sample fields`}</label>
        <p class="hint" id="fields-hint">
          {t`A JSON object. Made up from the names that the variants use, until you write your own.`}
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
          {isFaulty ? fieldsParameter : fieldsText}
        </textarea>
        {isFaulty && <p class="error" id="fields-error">{t`Sample fields must be a JSON object; not used.`}</p>}
      </div>
      <div>
        <button type="submit" class="button compact">{t`Show with these`}</button>
      </div>
    </form>
  </details>
)

const VariantPagination = ({ link, number, pages }: {
  readonly link: (page: number) => string
  readonly number: number
  readonly pages: number
}) => (
  <nav class="pagination" aria-label={t`Pages of the variants`}>
    {number !== 1 && <a class="button compact" href={link(number - 1)} rel="prev">{t`Previous`}</a>}
    <span class="small muted">{t`Page ${number} of ${pages}`}</span>
    {number !== pages && <a class="button compact" href={link(number + 1)} rel="next">{t`Next`}</a>}
  </nav>
)

/** The latest changes of the template and its variants. */
const RecentChanges = ({ entries, here, org, template }: {
  readonly entries: ReadonlyArray<AuditEntry>
  readonly here: string
  readonly org: Organization
  readonly template: Template
}) => (
  <Card kind="flush">
    {entries.length === 0
      ? <Empty title={t`No changes yet`}>{t`Changes are listed here with their author and time.`}</Empty>
      : <Changes entries={entries.slice(0, changesShown)} here={here} template={template} zone={org.time_zone} />}
    {entries.length !== 0 && (
      <nav class="pagination" aria-label={t`More changes`}>
        <a class="button compact" href={`${here}/history`}>{t`All changes, before and after`}</a>
      </nav>
    )}
  </Card>
)

/** The form that renames the template on its page. */
const Rename = ({ faults, here, name, typed }: {
  readonly faults: ReadonlyArray<Fault>
  readonly here: string
  readonly name: string
  /** The name in a form that was sent. */
  readonly typed: string | undefined
}) => (
  <details class="why" open={typed !== undefined}>
    <summary>{t`Rename`}</summary>
    <Form action={`${here}/rename`}>
      <Field name="name" label={t`Name`} value={typed ?? name} faults={faults} />
      <div>
        <Submit>{t`Save name`}</Submit>
      </div>
    </Form>
  </details>
)

const decodePatch = decoder(TemplatePatch)

const rename = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { name } = yield* decoded(decodePatch({ name: (fields["name"] ?? "").trim() }))
  const { id } = yield* (yield* Templates).update(visit.org.slug, visit.params["template"] ?? "", { name: name! })
  return { to: templatePath(visit.org.slug, id), done: "template-saved" }
})

const show = Effect.fnUntraced(function* (visit: Visit, sent: Fields = {}, faults: ReadonlyArray<Fault> = []) {
  const traffic = yield* Traffic
  const { can, org, query } = visit
  const template = yield* get(visit)
  yield* (yield* KeptResults).prepare(org.slug)
  const here = templatePath(org.slug, template.id)
  const now = yield* Clock.currentTimeMillis
  const entries = yield* (yield* ChangeHistory).ofTemplate(org.slug, template.id, { limit: changesShown + 1 })
  const shares = yield* traffic.byVariant(org.slug, template.id)
  const days = (yield* traffic.daily(org.slug, [template.id])).get(template.id) ?? []
  const all = [...shares.values()].reduce((sum, count) => sum + count, 0)

  const fieldsParameter = query.get("fields")
  const fromQuery = given(fieldsParameter)
  const fields = fromQuery?.fields ?? sampleFields(template.variants.map(({ vars }) => vars))
  const fieldsText = fromQuery?.text ?? JSON.stringify(fields, null, 2)
  const isFaulty = fieldsParameter !== null && fromQuery === undefined

  const pages = Math.max(1, Math.ceil(template.variants.length / variantsPerPage))
  const at = template.variants.findIndex(({ id }) => id === query.get("at"))
  const wanted = at >= 0 ? Math.floor(at / variantsPerPage) + 1 : Number(query.get("page") ?? "1")
  const number = Number.isInteger(wanted) && wanted >= 1 && wanted <= pages ? wanted : 1
  const first = (number - 1) * variantsPerPage
  const shown = template.variants.slice(first, first + variantsPerPage)
  const rendered = yield* textsOf(org, template, shown, JSON.stringify(fields))
  const link = (page: number) =>
    `${here}?${new URLSearchParams({
      ...(fromQuery === undefined ? {} : { fields: fromQuery.text }),
      page: `${page}`,
    })}`

  const noticed = (yield* Effect.orDie((yield* RequestNotices).recent(org.slug))).filter(({ templateId }) =>
    templateId === template.id
  )
  const warning = templateWarning(yield* Connections, org.slug, template)
  const suggests = yield* offersSuggestions(visit, template)
  const create = can("createVariant")
    ? <a class="button primary" href={`${here}/new-variant`}>{t`New variant`}</a>
    : null
  return view(
    {
      title: template.name,
      back: { href: listPath(org.slug), label: t`Templates` },
      lead: (
        <>
          {t`Template ID: ${<code>{template.id}</code>}`}
          {can("updateTemplate") && <Rename faults={faults} here={here} name={template.name} typed={sent["name"]} />}
        </>
      ),
      actions: (
        <>
          {template.variants.length !== 0 && create}
          {template.locale !== null && <a class="button" href={`${here}/strings`}>{t`Translations`}</a>}
          {suggests && <a class="button" href={`${here}/suggestions`}>{t`Suggest variants`}</a>}
          <a class="button" href={`${here}/export`}>{t`Export`}</a>
          {can("createTemplate") && <PostButton to={`${here}/duplicate`}>{t`Duplicate`}</PostButton>}
          <TemplateMenu
            back={here}
            isPage
            template={{
              id: template.id,
              name: template.name,
              active: template.variants.filter(({ active }) => active).length,
              variants: template.variants.length,
              isArchived: template.archived_at !== null,
            }}
            visit={visit}
          />
        </>
      ),
    },
    template.archived_at !== null && <ArchivedNote archivedAt={template.archived_at} id={template.id} visit={visit} />,
    warning !== "" && <Note kind="warn">{warning}</Note>,
    <RequestNotes notices={noticed} />,
    yield* waitingNote(visit, template.id),
    <TemplateDraftsNote
      drafts={can("getDraft") ? yield* (yield* Drafts).list(org.slug, template.id) : []}
      template={template}
      visit={visit}
    />,
    <Card>
      <Facts days={days} org={org} template={template} />
    </Card>,
    <section class="stack" aria-label={t`Variants`}>
      <div class="section-head">
        <h2>{counted(template.variants.length, "variant")}</h2>
        {template.variants.length !== 0 && (
          <SampleForm fieldsParameter={fieldsParameter} fieldsText={fieldsText} here={here} isFaulty={isFaulty} />
        )}
      </div>
      {template.variants.length === 0
        ? (
          <Card kind="flush">
            <Empty title={t`No variants yet`} action={create}>
              {can("createVariant")
                ? t`Write its first variant. With two or more, Parlance learns which one works best for whom.`
                : t`An editor of the organization can write its variants.`}
            </Empty>
          </Card>
        )
        : (
          <>
            {rendered instanceof NotPreviewed && <NotPreviewedNote {...rendered} retry={link(number)} />}
            <ul class="variants">
              {shown.map((variant, index) => (
                <VariantCard
                  variant={variant}
                  rendered={rendered instanceof NotPreviewed ? undefined : rendered[index]!}
                  base={variantPath(org.slug, template.id, variant.id)}
                  inSeason={Seasonality.compile(variant.seasons, org.time_zone).holds(now)}
                  fieldsText={fieldsText}
                  decisions={shares.get(variant.id) ?? 0}
                  share={all === 0 ? undefined : (shares.get(variant.id) ?? 0) / all}
                  actions={actions(visit, template, first + index)}
                />
              ))}
            </ul>
            <MoreRows first={2} rows={shown.length} label={t`Show all ${shown.length} variants`} />
          </>
        )}
      {pages !== 1 && <VariantPagination link={link} number={number} pages={pages} />}
    </section>,
    <RecentChanges entries={entries} here={here} org={org} template={template} />,
  )
})

/** A template: its variants side by side, and its latest changes. */
export const layer = pages(({ action, page }) => [
  page("/console/o/:org/templates/:template", "getTemplate", (visit) => show(visit)),
  action("/console/o/:org/templates/:template/rename", "updateTemplate", rename, show),
])
