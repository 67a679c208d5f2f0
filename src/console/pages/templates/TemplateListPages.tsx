import { Effect, Layer } from "effect"
import { noteNothing } from "../../../accounts/Audit.ts"
import { Memberships } from "../../../accounts/Memberships.ts"
import { TemplateListing, type TemplatesPage } from "../../../api/templates/TemplateListing.ts"
import { isStorable } from "../../../domain/Attributes.ts"
import { type Fault, InvalidInput } from "../../../domain/Errors.ts"
import { decoder } from "../../../domain/Faults.ts"
import { isNarrowed, listQueryIn, queryOf } from "../../../domain/List.ts"
import { TemplateBatchInput } from "../../../domain/TemplateSwitches.ts"
import { t } from "../../../languages/Language.ts"
import { Drafts } from "../../../templates/Drafts.ts"
import { Proposals } from "../../../templates/Proposals.ts"
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
import { ViewsBar, viewsOf, withStartView } from "../ViewPages.tsx"
import { createPath, exportPath, importPath, listPath } from "./Paths.ts"
import { BatchBar, type BatchName, Nothing, shownAt, TemplateTable } from "./TemplateListParts.tsx"

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

/** The changes that forms ask for, as the API takes them, and the messages after them. */
const batches: {
  readonly [what in BatchName]: { readonly done: string; readonly change: (fields: Fields) => object }
} = {
  activate: { done: "templates-activated", change: () => ({ active: true }) },
  deactivate: { done: "templates-deactivated", change: () => ({ active: false }) },
  archive: { done: "templates-archived", change: () => ({ archived: true }) },
  restore: { done: "templates-restored", change: () => ({ archived: false }) },
  tag: { done: "templates-tagged", change: ({ tag = "" }) => ({ add_tags: [tag.trim()] }) },
  untag: { done: "templates-untagged", change: ({ tag = "" }) => ({ remove_tags: [tag.trim()] }) },
  owner: { done: "templates-owned", change: ({ owner = "" }) => ({ owner: owner === "" ? null : owner }) },
}

const batchFields = formFields({ id: (sent = "") => sent.split("\n"), back: ownPath })

const batchAction = (what: BatchName) =>
  Effect.fnUntraced(function* ({ org }: Visit, fields: Fields) {
    const { back, id } = batchFields(fields)
    const ids = id.filter((one) => one !== "" && isStorable(one)).slice(0, maxBatch)
    if (ids.length === 0) {
      return yield* new InvalidInput({
        faults: [{ pointer: "", detail: t`No template is chosen: tick its box first` }],
      })
    }
    const { change, done } = batches[what]
    const { ids: some, ...wanted } = yield* decoded(decodeBatch({ ids, ...change(fields) })).pipe(
      Effect.mapError(({ faults }) =>
        new InvalidInput({ faults: faults.map(({ detail }) => ({ pointer: "", detail: t`The tag ${detail}` })) })
      ),
    )
    const changed = yield* (yield* TemplateBatch).change(org.slug, some, wanted)
    const to = back !== undefined && back.startsWith(listPath(org.slug)) ? back : listPath(org.slug)
    if (changed > 0) return { to, done, counts: { changed, left: some.length - changed } }
    yield* noteNothing
    return { to, done: "templates-unchanged" }
  })

/** The list of templates. */
export const layer = pages(({ action, page }) => [
  page("/console/o/:org/templates", "findTemplates", withStartView("templates", (visit) => list(visit))),
  ...(Object.keys(batches) as ReadonlyArray<BatchName>).map((what) =>
    action(`/console/o/:org/templates/-/${what}`, "changeTemplates", batchAction(what), list)
  ),
]).pipe(Layer.provide([TemplateBatch.layer, TemplateListing.layer]))
