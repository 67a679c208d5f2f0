import { Effect, Layer } from "effect"
import { noteNothing } from "../../../accounts/Audit.ts"
import { Memberships } from "../../../accounts/Memberships.ts"
import { lookedUp } from "../../../api/http/Requests.ts"
import { TemplateListing, type TemplatesPage } from "../../../api/templates/TemplateListing.ts"
import { isStorable } from "../../../domain/Attributes.ts"
import { type Fault, InvalidInput } from "../../../domain/Errors.ts"
import { decoder } from "../../../domain/Faults.ts"
import { isNarrowed, listQueryIn, queryOf } from "../../../domain/List.ts"
import type { OrgSlug } from "../../../domain/Ids.ts"
import type { Template, Variant } from "../../../domain/Template.ts"
import { TemplateBatchInput, VariantSwitch } from "../../../domain/TemplateSwitches.ts"
import { t } from "../../../languages/Language.ts"
import { Drafts } from "../../../templates/Drafts.ts"
import { Proposals } from "../../../templates/Proposals.ts"
import { Templates } from "../../../templates/Templates.ts"
import { TemplateBatch } from "../../../templates/TemplateBatch.ts"
import { KeptResults } from "../../../results/KeptResults.ts"
import { Card } from "../../components/Card.tsx"
import { Pills } from "../../components/Pills.tsx"
import { ListForm, ListPages } from "../../components/ListParts.tsx"
import { ErrorSummary } from "../../components/Note.tsx"
import { count, counted } from "../../Format.ts"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import { formFields } from "../../FormReaders.ts"
import { decoded, type Fields, ownPath, type Visit } from "../../Routes.tsx"
import type { Undo } from "../../Undo.ts"
import { ViewsBar, viewsOf, withStartView } from "../ViewPages.tsx"
import { createPath, exportPath, importPath, listPath } from "./Paths.ts"
import { BatchBar, type BatchName, batchPath, Nothing, shownAt, TemplateTable } from "./TemplateListParts.tsx"

const pageSize = 20

const captionOf = ({ all, listQuery, found }: TemplatesPage, which: "archived" | "in-use"): string => {
  const number = isNarrowed(listQuery) ? found : all
  const shown = which === "archived" ? counted(number, "archived template") : counted(number, "template")
  return !isNarrowed(listQuery)
    ? shown
    : listQuery.search === ""
    ? t`${shown} of ${count(all)}`
    : t`${shown} of ${count(all)} with “${listQuery.search}”`
}

const list = Effect.fnUntraced(function* (visit: Visit, _: Fields = {}, faults: ReadonlyArray<Fault> = []) {
  const { can, org, query } = visit
  const views = yield* viewsOf(visit, "templates")
  yield* (yield* KeptResults).prepare(org.slug)
  const which = query.get("archived") === "true" ? "archived" as const : "in-use" as const
  const page = yield* (yield* TemplateListing).page(org.slug, which, pageSize, (shape) => listQueryIn(shape, query))
  const { all, archived, listQuery, inUse, shape } = page
  const here = listPath(org.slug)
  const start = which === "archived" ? `${here}?archived=true` : views.all
  const more: Readonly<Record<string, string>> = which === "archived" ? { archived: "true" } : {}
  const back = shownAt(org.slug, page, more)
  const ids = page.rows.map(({ id }) => id as string)
  const unpublished = {
    drafts: can("getDraft") ? yield* (yield* Drafts).countsOf(org.slug, ids) : new Map<string, number>(),
    waiting: yield* (yield* Proposals).countsOpen(org.slug, ids),
  }
  const create = can("createTemplate")
    ? <a class="button primary" href={createPath(org.slug)}>{t`Create a template`}</a>
    : null
  return view(
    {
      title: t`Templates`,
      lead: t`A template is one message in several variants. Parlance chooses a variant for each reader and learns
        which one works best.`,
      actions: inUse + archived === 0 ? undefined : (
        <>
          {create}
          {can("importTemplates") && <a class="button" href={importPath(org.slug)}>{t`Import`}</a>}
          <a class="button" href={exportPath(org.slug)}>{t`Export all`}</a>
        </>
      ),
    },
    <ErrorSummary faults={faults} />,
    (archived !== 0 || which !== "in-use") && (
      <Pills
        label={t`Which templates`}
        links={[
          { href: views.all, label: t`In use: ${inUse}`, isCurrent: which === "in-use" },
          { href: `${here}?archived=true`, label: t`Archived: ${archived}`, isCurrent: which === "archived" },
        ]}
      />
    ),
    <ViewsBar query={queryOf(shape, listQuery, { more })} views={views} visit={visit} />,
    <Card kind="flush">
      <ListForm
        all={all}
        listQuery={listQuery}
        at={here}
        start={start}
        label={t`Search templates`}
        placeholder={t`Name, id or tag`}
        shape={shape}
      >
        {which === "archived" && <input type="hidden" name="archived" value="true" />}
      </ListForm>
      {page.found === 0
        ? (
          <Nothing
            action={create}
            all={inUse + archived}
            here={here}
            search={listQuery.search}
            start={start}
            visit={visit}
            which={all === 0 ? which : "none"}
          />
        )
        : (
          <>
            <BatchBar
              back={back}
              members={yield* (yield* Memberships).list(org.slug)}
              page={page}
              visit={visit}
              which={which}
            />
            <TemplateTable
              all={all}
              back={back}
              caption={captionOf(page, which)}
              more={more}
              page={page}
              unpublished={unpublished}
              visit={visit}
            />
          </>
        )}
      <ListPages
        listQuery={listQuery}
        at={here}
        label={t`Pages of the templates`}
        more={more}
        page={page}
        shape={shape}
      />
    </Card>,
  )
})

/** The most templates of one batch: more than a page has. */
const maxBatch = 100

const decodeBatch = decoder(TemplateBatchInput)

/** Returns the action that reverses a change, with its fields, or undefined without one. `before`: the templates before the change. */
type Reverse = (
  before: ReadonlyArray<Template>,
  fields: Fields,
) => readonly [action: BatchName | "switch", fields: Undo["fields"]] | undefined

const idsOf = (some: ReadonlyArray<Pick<Template, "id"> | Pick<Variant, "id">>): ReadonlyArray<string> =>
  some.map(({ id }) => id)

/** Switches back the variants that a change to `active` has switched. A value has the ids of a template and of variants. */
const switchBack = (active: boolean): Reverse => (before) => [
  "switch",
  {
    active: `${!active}`,
    variants: before.map(({ id, variants }) =>
      [id, ...idsOf(variants.filter((one) => one.active !== active))].join("\t")
    ),
  },
]

/** The changes that forms ask for, as the API takes them, the messages after them, and what reverses them. */
const batches: {
  readonly [what in BatchName]: {
    readonly done: string
    readonly change: (fields: Fields) => object
    readonly reverse: Reverse
  }
} = {
  activate: { done: "templates-activated", change: () => ({ active: true }), reverse: switchBack(true) },
  deactivate: { done: "templates-deactivated", change: () => ({ active: false }), reverse: switchBack(false) },
  archive: {
    done: "templates-archived",
    change: () => ({ archived: true }),
    reverse: (before) => ["restore", { id: idsOf(before) }],
  },
  restore: {
    done: "templates-restored",
    change: () => ({ archived: false }),
    reverse: (before) => ["archive", { id: idsOf(before) }],
  },
  tag: {
    done: "templates-tagged",
    change: ({ tag = "" }) => ({ add_tags: [tag.trim()] }),
    reverse: (before, { tag = "" }) => ["untag", { id: idsOf(before), tag }],
  },
  untag: {
    done: "templates-untagged",
    change: ({ tag = "" }) => ({ remove_tags: [tag.trim()] }),
    reverse: (before, { tag = "" }) => ["tag", { id: idsOf(before), tag }],
  },
  owner: {
    done: "templates-owned",
    change: ({ owner = "" }) => ({ owner: owner === "" ? null : owner }),
    // One form sets one owner.
    reverse: ([first, ...others]) =>
      others.some(({ owner }) => owner !== first!.owner)
        ? undefined
        : ["owner", { id: idsOf([first!, ...others]), owner: first!.owner ?? "" }],
  },
}

const batchFields = formFields({ id: (sent = "") => sent.split("\n"), back: ownPath })

/** The list, or the page of it from which a form was sent. */
const placeOf = (org: OrgSlug, back: string | undefined) => back?.startsWith(listPath(org)) ? back : listPath(org)

const batchAction = (what: BatchName) =>
  Effect.fnUntraced(function* ({ org }: Visit, fields: Fields) {
    const { back, id } = batchFields(fields)
    const ids = id.filter((one) => one !== "" && isStorable(one)).slice(0, maxBatch)
    if (ids.length === 0) {
      return yield* new InvalidInput({
        faults: [{ pointer: "", detail: t`No template is chosen: tick its box first` }],
      })
    }
    const { change, done, reverse } = batches[what]
    const { ids: some, ...wanted } = yield* decoded(decodeBatch({ ids, ...change(fields) })).pipe(
      Effect.mapError(({ faults }) =>
        new InvalidInput({ faults: faults.map(({ detail }) => ({ pointer: "", detail: t`The tag ${detail}` })) })
      ),
    )
    const before = yield* (yield* TemplateBatch).change(org.slug, some, wanted)
    const to = placeOf(org.slug, back)
    if (before.length > 0) {
      const [action, values] = reverse(before, fields) ?? []
      return {
        to,
        done,
        counts: { changed: before.length, left: some.length - before.length },
        undo: action === undefined ? undefined : { to: batchPath(org.slug, action), fields: { ...values, back: to } },
      }
    }
    yield* noteNothing
    return { to, done: "templates-unchanged" }
  })

const switchFields = formFields({
  active: (sent) => sent === "true",
  back: ownPath,
  variants: (sent = "") => sent.split("\n").map((line) => line.split("\t").map(lookedUp)),
})

const decodeSwitch = decoder(VariantSwitch)

/** Switches variants of several templates, as `switchBack` names them. */
const switchAction = Effect.fnUntraced(function* ({ org }: Visit, fields: Fields) {
  const { active, back, variants } = switchFields(fields)
  for (const [template = "", ...ids] of variants) {
    const wanted = yield* decoded(decodeSwitch({ [active ? "activate" : "deactivate"]: ids }))
    yield* (yield* Templates).switchVariants(org.slug, template, wanted)
  }
  return { to: placeOf(org.slug, back), done: "variants-restored" }
})

/** The list of templates. */
export const layer = pages(({ action, page }) => [
  page("/console/o/:org/templates", "findTemplates", withStartView("templates", (visit) => list(visit))),
  ...(Object.keys(batches) as ReadonlyArray<BatchName>).map((what) =>
    action(`/console/o/:org/templates/-/${what}`, "changeTemplates", batchAction(what), list)
  ),
  action("/console/o/:org/templates/-/switch", "changeTemplates", switchAction, list),
]).pipe(Layer.provide([TemplateBatch.layer, TemplateListing.layer]))
