import type { ComponentChildren } from "preact"
import type { Member } from "../../../accounts/Account.ts"
import { stoppingRule } from "../../../bandit/Verdict.ts"
import type { TemplatesPage } from "../../../api/templates/TemplateListing.ts"
import { type ListedTemplate, stateOf } from "../../../api/templates/TemplateListShape.ts"
import type { OrgSlug } from "../../../domain/Ids.ts"
import { queryOf } from "../../../domain/List.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { objectiveText } from "../../../results/ObjectiveText.ts"
import { Badge } from "../../components/Badge.tsx"
import { Empty } from "../../components/Empty.tsx"
import { SessionFields } from "../../components/Form.tsx"
import { sortHeading } from "../../components/ListParts.tsx"
import { MenuLink, MenuPost, RowMenu } from "../../components/RowMenu.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { counted } from "../../Format.ts"
import type { Visit } from "../../Routes.tsx"
import { importPath, listPath, templatePath } from "./Paths.ts"
import { Sparkline } from "./Sparkline.tsx"

// The parts of the list of templates.

/** A change of the chosen templates. */
export type BatchName = "activate" | "deactivate" | "archive" | "restore" | "tag" | "untag" | "owner"

const batchWords = {
  activate: english("Activate all variants"),
  deactivate: english("Deactivate all variants"),
  archive: english("Archive"),
  restore: english("Restore"),
} as const

/** Path of a change of the chosen templates, and of the form that switches variants back. */
export const batchPath = (org: OrgSlug, what: BatchName | "switch") => `${listPath(org)}/-/${what}`

/** Numbers of drafts, and of changes that wait for approval, by template. */
export interface Unpublished {
  readonly drafts: ReadonlyMap<string, number>
  readonly waiting: ReadonlyMap<string, number>
}

const State = ({ org, template, unpublished: { drafts, waiting } }: {
  readonly org: OrgSlug
  readonly template: ListedTemplate
  readonly unpublished: Unpublished
}) => {
  const { active, failed, failing, id, repeatedIds, unfilled, variants } = template
  const badges = {
    archived: <Badge>{t`archived`}</Badge>,
    "no-variants": <Badge kind="warn">{t`no variants`}</Badge>,
    inactive: <Badge kind="warn">{t`no active variant`}</Badge>,
    "out-of-season": <Badge kind="warn">{t`out of season`}</Badge>,
    active: <Badge kind="good">{active === variants ? t`${active} active` : t`${active} of ${variants} active`}</Badge>,
  }
  return (
    <>
      {badges[stateOf(template)]}
      {waiting.has(id) && (
        <a class="sub" href={`/console/o/${org}/reviews`}>
          {counted(waiting.get(id)!, "change waiting for approval", "changes waiting for approval")}
        </a>
      )}
      {drafts.has(id) && <a class="sub" href={templatePath(org, id)}>{counted(drafts.get(id)!, "draft")}</a>}
      {failing.length !== 0 && (
        <a class="sub failed" href={`${templatePath(org, id)}/variants/${encodeURIComponent(failing[0]!)}`}>
          {counted(failing.length, "variant cannot be rendered", "variants cannot be rendered")}
        </a>
      )}
      {failed !== 0 && (
        <a
          class="sub failed"
          href={`/console/o/${org}/deliveries?${new URLSearchParams({ state: "failed", template_id: id })}`}
        >
          {counted(failed, "failed message in 24 hours", "failed messages in 24 hours")}
        </a>
      )}
      {repeatedIds !== 0 && (
        <a class="sub failed" href={templatePath(org, id)}>{counted(repeatedIds, "repeated tracking id")}</a>
      )}
      {unfilled !== 0 && (
        <a class="sub failed" href={templatePath(org, id)}>
          {counted(unfilled, "request with placeholders", "requests with placeholders")}
        </a>
      )}
    </>
  )
}

const Owner = ({ template: { owner, ownerName } }: { readonly template: ListedTemplate }) =>
  owner === null ? <span class="muted">{t`no owner`}</span> : ownerName === null
    ? (
      <>
        <span dir="auto">{owner}</span>
        <span class="sub failed">{t`has left`}</span>
      </>
    )
    : <span dir="auto" title={owner}>{ownerName}</span>

/** A link to the results with the winner, or with the progress of the test. A dash before the first send. */
const Winner = ({ org, template: { days, id, name, testedDays, winner } }: {
  readonly org: OrgSlug
  readonly template: ListedTemplate
}) => {
  if (winner === null && testedDays === 0 && !days.some((sends) => sends > 0)) return <span class="muted">–</span>
  const text = winner !== null
    ? winner.name
    : testedDays < stoppingRule.days
    ? t`day ${Math.floor(testedDays) + 1} of at least ${stoppingRule.days}`
    : t`not yet`
  return (
    <a href={`${templatePath(org, id)}/results`} aria-label={t`${text}: results of ${name}`}>
      <bdi>{text}</bdi>
    </a>
  )
}

const Tags = ({ at, tags }: { readonly at: string; readonly tags: ReadonlyArray<string> }) =>
  tags.length === 0 ? null : (
    <span class="tags">
      {tags.map((tag) => <a class="tag" href={`${at}?${new URLSearchParams({ tag })}`} dir="auto">{tag}</a>)}
    </span>
  )

/** A template as its menu needs it. */
interface MenuTemplate extends Pick<ListedTemplate, "id" | "name"> {
  /** Number of active variants. */
  readonly active: number
  /** Number of all variants. */
  readonly variants: number
  readonly isArchived: boolean
}

/**
 * The verbs of a template, which mean the same in the list and on its page. `back`: where a change leads.
 * `isPage`: on the page of the template, whose tabs have the links to its other pages.
 */
export const TemplateMenu = ({ back, isPage = false, template, visit: { can, org } }: {
  readonly back: string
  readonly isPage?: boolean
  readonly template: MenuTemplate
  readonly visit: Visit
}) => {
  const { active, id, isArchived, name, variants } = template
  const here = templatePath(org.slug, id)
  const change = (what: keyof typeof batchWords) => (
    <MenuPost to={batchPath(org.slug, what)} fields={{ id, back }}>{translated(batchWords[what])}</MenuPost>
  )
  const link = (path: string, label: string) => <MenuLink href={`${here}/${path}`}>{label}</MenuLink>
  const items = [
    !isPage && link("results", t`Results`),
    !isPage && link("audience", t`Audience`),
    !isPage && link("comments", t`Comments`),
    !isPage && link("history", t`History`),
    !isPage && can("updateTemplate") && link("settings", t`Settings`),
    !isPage && can("updateTemplate") && link("settings#name", t`Rename`),
    !isPage && can("createTemplate") && <MenuPost to={`${here}/duplicate`}>{t`Duplicate`}</MenuPost>,
    !isPage && link("export", t`Export`),
    can("switchVariants") && !isArchived && active > 1 && link("results/ship", t`Ship one variant`),
    can("changeTemplates") && !isArchived && active < variants && change("activate"),
    can("changeTemplates") && !isArchived && active > 0 && change("deactivate"),
    can("changeTemplates") && change(isArchived ? "restore" : "archive"),
    can("deleteTemplate") && <MenuLink href={`${here}/delete`} danger>{t`Delete`}</MenuLink>,
  ].filter((item) => item !== false)
  return items.length === 0 ? null : <RowMenu label={t`Actions for ${name}`}>{items}</RowMenu>
}

/** The form of which the boxes in the rows are a part. */
const batchForm = "batch"

/** The controls that set tags and the owner of the chosen templates. */
const TagsAndOwner = ({ members, org, tags }: {
  readonly members: ReadonlyArray<Member>
  readonly org: OrgSlug
  readonly tags: ReadonlyArray<readonly [value: string, label: string]>
}) => (
  <details class="batch-more">
    <summary class="button compact">{t`Tags and owner`}</summary>
    <div class="list-form">
      <div class="field">
        <label for="batch-tag">{t`Tag`}</label>
        <input type="text" id="batch-tag" name="tag" list="batch-tags" maxLength={50} autocomplete="off" />
        <datalist id="batch-tags">{tags.map(([tag]) => <option value={tag} />)}</datalist>
      </div>
      <button type="submit" class="button compact" formAction={batchPath(org, "tag")}>{t`Add tag`}</button>
      <button type="submit" class="button compact" formAction={batchPath(org, "untag")}>{t`Remove tag`}</button>
      <div class="field">
        <label for="batch-owner">{t`Owner`}</label>
        <select id="batch-owner" name="owner">
          <option value="">{t`nobody`}</option>
          {members.map(({ email, name }) => <option value={email}>{name}</option>)}
        </select>
      </div>
      <button type="submit" class="button compact" formAction={batchPath(org, "owner")}>{t`Set owner`}</button>
    </div>
  </details>
)

/** Buttons that change the chosen templates. */
export const BatchBar = ({ back, members, page, visit: { can, org }, which }: {
  /** Where the list goes on after a change. */
  readonly back: string
  readonly members: ReadonlyArray<Member>
  readonly page: TemplatesPage
  readonly visit: Visit
  readonly which: "archived" | "in-use"
}) =>
  !can("changeTemplates") ? null : (
    <form method="post" action={batchPath(org.slug, "archive")} id={batchForm} class="bulk-actions">
      <SessionFields isFilled={false} />
      <input type="hidden" name="back" value={back} />
      <label class="small" data-choose-all={batchForm} hidden>
        <input type="checkbox" class="row-check" />
        {t`All on this page`}
      </label>
      <span class="small muted" data-chosen>{t`Chosen templates:`}</span>
      {(which === "archived" ? ["restore"] as const : ["activate", "deactivate", "archive"] as const).map((what) => (
        <button type="submit" class="button compact" formAction={batchPath(org.slug, what)}>
          {translated(batchWords[what])}
        </button>
      ))}
      <TagsAndOwner members={members} org={org.slug} tags={page.shape.filters["tag"]!.options} />
    </form>
  )

/** The table of a page of templates. */
export const TemplateTable = ({ all, back, caption, more, page, unpublished, visit }: {
  readonly all: number
  readonly back: string
  readonly caption: string
  readonly more: Readonly<Record<string, string>>
  readonly page: TemplatesPage
  readonly unpublished: Unpublished
  readonly visit: Visit
}) => {
  const { can, org } = visit
  const here = listPath(org.slug)
  const sorted = (name: string) => sortHeading(page.shape, page.listQuery, { all, at: here, name, more })
  return (
    <Table
      caption={caption}
      cards="line"
      headings={[
        sorted("name"),
        sorted("state"),
        sorted("winner"),
        sorted("decisions"),
        sorted("goal"),
        sorted("owner"),
        sorted("changed"),
        `[${t`Actions`}]`,
      ]}
      rows={page.rows.map((template) => [
        <>
          {can("changeTemplates") && (
            <input
              type="checkbox"
              class="row-check"
              form={batchForm}
              name="id"
              value={template.id}
              aria-label={t`Choose ${template.name}`}
            />
          )}
          <span>
            <a href={templatePath(org.slug, template.id)} dir="auto">{template.name}</a>
            <span class="sub mono wide" dir="auto">{template.id}</span>
            <Tags at={here} tags={template.tags} />
          </span>
        </>,
        { kind: "nowrap", content: <State org={org.slug} template={template} unpublished={unpublished} /> },
        { content: <Winner org={org.slug} template={template} />, label: t`Winner` },
        { kind: "nowrap wide", content: <Sparkline days={template.days} /> },
        { content: objectiveText(template.objective), label: t`Goal`, kind: "wide" },
        {
          content: <Owner template={template} />,
          label: t`Owner`,
          ...(template.owner === null ? { kind: "wide" as const } : {}),
        },
        { kind: "nowrap wide", content: <Time at={template.updatedAt} zone={org.time_zone} /> },
        {
          kind: "actions",
          content: (
            <TemplateMenu
              back={back}
              template={{ ...template, isArchived: template.archivedAt !== null }}
              visit={visit}
            />
          ),
        },
      ])}
    />
  )
}

/** The address of the list as it is shown, from its start. */
export const shownAt = (
  org: OrgSlug,
  { listQuery, shape }: TemplatesPage,
  more: Readonly<Record<string, string>>,
): string => `${listPath(org)}${queryOf(shape, listQuery, { more })}`

/** Explains why a list of templates is empty. */
export const Nothing = ({ action, all, here, search, start, visit, which }: {
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
        title={t`No templates yet`}
        action={
          <div class="buttons">
            {action}
            {visit.can("importTemplates") && <a class="button" href={importPath(visit.org.slug)}>{t`Import a file`}</a>}
          </div>
        }
      >
        {visit.can("createTemplate")
          ? t`Create one and add a few variants, or import a file with templates.`
          : t`An editor of the organization can create one.`}
      </Empty>
    )
  }
  if (which === "archived") {
    return (
      <Empty title={t`No archived templates`} action={<a class="button" href={here}>{t`Templates in use`}</a>}>
        {t`Archived templates are listed here with their results until they are restored or deleted.`}
      </Empty>
    )
  }
  if (which === "in-use") {
    return (
      <Empty title={t`Every template is archived`} action={action}>
        {t`Restore an archived template, or create a new one.`}
      </Empty>
    )
  }
  return (
    <Empty title={t`No matching templates`} action={<a class="button" href={start}>{t`Show all`}</a>}>
      {search === ""
        ? t`Change or clear the filters.`
        : t`No template that the filters find has “${search}” in its name or id.`}
    </Empty>
  )
}
