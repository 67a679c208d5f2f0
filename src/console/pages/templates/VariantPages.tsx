import { Effect, Result } from "effect"
import { isDeepStrictEqual } from "node:util"
import type { OrgSlug } from "../../../domain/Ids.ts"
import { Snippets } from "../../../templates/Snippets.ts"
import { layoutOf, withLayout } from "../../../templates/Layouts.ts"
import { Templates } from "../../../templates/Templates.ts"
import { SourceCheck } from "../../../rendering/SourceCheck.ts"
import { type Fault, InvalidInput, VariantNotFound } from "../../../domain/Errors.ts"
import { decoder } from "../../../domain/Faults.ts"
import { type Template, type Variant, VariantInput } from "../../../domain/Template.ts"
import { t } from "../../../languages/Language.ts"
import { atVariables } from "../../../templates/ImportInput.ts"
import { Drafts, newIdOf } from "../../../templates/Drafts.ts"
import { type Draft, ofVariant, placed, read, sourcesOf } from "../../../templates/VariantForm.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { askFirst } from "../../components/AskFirst.tsx"
import { copyName } from "../../Format.ts"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Fields, Goto, View, Visit } from "../../Routes.tsx"
import { changed, conditionText, lookOf, ofFields } from "./Draft.ts"
import { convertAction } from "./ConversionCard.tsx"
import { combined, withDrafts } from "./DraftPages.tsx"
import {
  editorFields,
  editorPaths,
  faulty,
  here,
  home,
  idOf,
  keepDraft,
  opened,
  placeOf,
  resent,
} from "./EditorPage.tsx"
import { samplesOf } from "./NewDraft.ts"
import { sampleOf } from "./SampleInputs.tsx"
import { deletePersonAction, personAction, savePersonAction } from "./PersonPages.tsx"
import { variantPath } from "./Paths.ts"
import { recipientsIn, sendTest } from "./VariantTest.tsx"
import { seasonText } from "./Words.ts"

const decodeInput = decoder(VariantInput)

/** The variant of a path. Fails with `VariantNotFound`. */
const storedOf = Effect.fnUntraced(function* (visit: Visit) {
  return (yield* opened(visit)).stored ?? (yield* new VariantNotFound({ id: idOf(visit, "variant") }))
})

/** The stored variant, for members who may not change it. */
const shown = (visit: Visit, of: Template, stored: Variant) =>
  view(
    {
      title: stored.name,
      back: { href: home(visit), label: of.name },
      lead: t`Read-only: your role (${visit.role}) cannot change variants.`,
      actions: <a class="button" href={`${here(visit)}/versions`}>{t`Versions`}</a>,
    },
    <Card stacked title={t`Content`}>
      {Object.entries(stored.vars).map(([name, source]) => (
        <div class="stack tight">
          <h3>
            {name} <Badge>{stored.formats[name] ?? "text"}</Badge>
          </h3>
          <pre tabIndex={0}>{source}</pre>
        </div>
      ))}
    </Card>,
    <Card title={t`Audience and schedule`}>
      <ul class="plain-list">
        <li>{stored.active ? t`Active.` : t`Inactive.`}</li>
        {stored.targeting.length === 0 && <li>{t`For everyone.`}</li>}
        {stored.targeting.map((condition) => <li>{conditionText(condition)}</li>)}
        {stored.seasons.length === 0 && <li>{t`Always.`}</li>}
        {stored.seasons.map((season) => <li>{seasonText(season)}</li>)}
        {Object.entries(stored.components).map(([kind, value]) => <li>{t`Made of ${kind}: ${value}`}</li>)}
      </ul>
    </Card>,
    <Card title={t`Preview`}>
      <div class="frame-holder">
        <iframe
          title={t`Preview`}
          sandbox="allow-same-origin"
          src={`${here(visit)}/preview?${new URLSearchParams({ ...samplesOf(of) })}`}
        >
        </iframe>
      </div>
    </Card>,
  )

/** The faults of the fields and the faults of the Liquid, so that the form shows all of them at once. */
const allFaults = Effect.fnUntraced(function* (org: OrgSlug, draft: Draft, faults: ReadonlyArray<Fault>) {
  const [sources] = yield* (yield* Snippets).attach(org, [sourcesOf(draft)])
  const liquid = yield* (yield* SourceCheck).check(org, sources!).pipe(
    Effect.as([]),
    Effect.catchTag(
      "LiquidFaults",
      (error) => Effect.succeed(atVariables(error.faults)),
    ),
  )
  return new InvalidInput({ faults: [...faults, ...placed(draft, liquid)] })
})

/** The draft to create. Without an id in the form, the id is made from the name. The variant is active if the button says so. */
const toCreate = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const draft = ofFields(fields)
  const active = draft.active || ["activate", "another"].includes(editorFields(fields).do ?? "")
  return { ...draft, active, id: newIdOf(draft, (yield* opened(visit)).of) ?? "" }
})

/** Removes the draft that a saved form was stored as. */
const dropDraft = (visit: Visit, fields: Fields) => {
  const { draft: known } = editorFields(fields)
  return known === undefined
    ? Effect.void
    : Drafts.use((drafts) => drafts.discard(visit.org.slug, placeOf(visit), known))
}

const add = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const draft = yield* toCreate(visit, fields)
  const shaped = read(draft)
  const input = Result.flatMap(
    shaped,
    (patch) => decodeInput({ ...patch, ...(draft.id === "" ? {} : { id: draft.id }) }),
  )
  if (Result.isFailure(input)) return yield* yield* allFaults(visit.org.slug, draft, input.failure)
  const made = yield* (yield* Templates).createVariant(visit.org.slug, idOf(visit, "template"), input.success).pipe(
    Effect.catchTags({
      AlreadyExists: () => new InvalidInput({ faults: [{ pointer: "/id", detail: t`is taken: choose another` }] }),
      InvalidInput: ({ faults }) => new InvalidInput({ faults: placed(draft, faults) }),
    }),
    // A change that needs approval is stored too.
    Effect.tapErrorTag("ChangeProposed", () => dropDraft(visit, fields)),
  )
  yield* dropDraft(visit, fields)
  const to = editorFields(fields).do === "another"
    ? `${home(visit)}/new-variant`
    : `${home(visit)}?at=${encodeURIComponent(made.id)}`
  return { to, done: "variant-created" }
})

/** The editor with both texts. The own one is stored as a draft, so that it stays if the page is left. */
const overtaken = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const kept = visit.can("putDraft")
    ? yield* keepDraft(visit, fields).pipe(
      Effect.catchTags({
        DraftChanged: () => Effect.succeed(undefined),
        InvalidInput: () => Effect.succeed(undefined),
      }),
    )
    : undefined
  const view = yield* resent(visit, fields, kept === undefined ? {} : { known: kept.savedAt, unsaved: false })
  return { ...view, status: 409 }
})

const save = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const draft = ofFields(fields)
  const patch = read(draft)
  if (Result.isFailure(patch)) return yield* yield* allFaults(visit.org.slug, draft, patch.failure)
  const done: Goto = { to: here(visit), done: "variant-saved" }
  return yield* (yield* Templates).updateVariant(
    visit.org.slug,
    idOf(visit, "template"),
    idOf(visit, "variant"),
    patch.success,
    // The version that the page showed, so that one saved since then is not overwritten unseen.
    editorFields(fields).over ?? draft.base,
  ).pipe(
    Effect.tapErrorTag("ChangeProposed", () => dropDraft(visit, fields)),
    Effect.andThen(dropDraft(visit, fields)),
    Effect.as<View | Goto>(done),
    Effect.catchTags({
      InvalidInput: ({ faults }) => new InvalidInput({ faults: placed(draft, faults) }),
      VariantChanged: () => overtaken(visit, fields),
    }),
  )
})

const change = Effect.fnUntraced(function* (visit: Visit) {
  const at = yield* opened(visit)
  if (at.stored !== undefined && !visit.can("updateVariant")) return shown(visit, at.of, at.stored)
  return yield* withDrafts(visit, at)
})

/** Shows the form again: with a row more or less, with both texts combined, or with the sample of a person. */
const rowAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { do: button } = editorFields(fields)
  const layout = button === "layout" ? layoutOf(fields["layout"]) : undefined
  if (layout !== undefined) return yield* resent(visit, fields, { draft: withLayout(ofFields(fields), layout) })
  if (button === "convert") return yield* convertAction(visit, fields)
  if (button === "combine") return yield* combined(visit, fields)
  if (/person|people/.test(button)) return yield* personAction(visit, fields)
  return yield* resent(visit, fields, { draft: changed(ofFields(fields), button) })
})

/** Sends the text of the form as a test, and shows the form again as it is. */
const testAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { of, stored } = yield* opened(visit)
  const draft = ofFields(fields)
  const sample = sampleOf((name) => fields[name], samplesOf(of))
  const to = recipientsIn(fields) ?? { to: "", groups: [] }
  const sent = yield* sendTest(
    visit,
    of,
    { ...draft, id: stored?.id ?? "" },
    { sample, chosen: lookOf((name) => fields[name]).locale },
    to,
  )
  return yield* resent(visit, fields, {
    test: { ...to, sent },
    unsaved: stored === undefined || !isDeepStrictEqual({ ...ofVariant(stored), id: "" }, { ...draft, id: "" }),
  })
})

const stateAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { active } = editorFields(fields)
  const { id } = yield* (yield* Templates).updateVariant(
    visit.org.slug,
    idOf(visit, "template"),
    idOf(visit, "variant"),
    { active },
  )
  return {
    to: `${home(visit)}?at=${encodeURIComponent(id)}`,
    done: active ? "variant-on" : "variant-off",
    undo: { to: `${here(visit)}/state`, fields: active ? {} : { active: "true" } },
  }
})

const duplicateAction = Effect.fnUntraced(function* (visit: Visit) {
  const { components, formats, locales, name, seasons, targeting, vars } = yield* storedOf(visit)
  const made = yield* (yield* Templates).createVariant(visit.org.slug, idOf(visit, "template"), {
    name: copyName(name),
    vars,
    locales,
    formats,
    targeting,
    seasons,
    components,
    active: false,
  })
  return { to: variantPath(visit.org.slug, idOf(visit, "template"), made.id), done: "variant-duplicated" }
})

const deletePage = Effect.fnUntraced(function* (visit: Visit) {
  const { of } = yield* opened(visit)
  const { active, name } = yield* storedOf(visit)
  return askFirst({
    title: t`Delete a variant`,
    question: t`Delete ${name}?`,
    back: { href: home(visit), label: of.name },
    button: t`Delete the variant`,
    text: (
      <>
        <p>
          {t`Its content cannot be restored. Past sends and its results are kept.`}{" "}
          {active && t`It is active: its audience will get the other variants.`}
        </p>
        <p class="muted">{t`To keep it for later, deactivate it instead.`}</p>
      </>
    ),
  })
})

const remove = Effect.fnUntraced(function* (visit: Visit) {
  yield* (yield* Templates).removeVariant(visit.org.slug, idOf(visit, "template"), idOf(visit, "variant"))
  return { to: home(visit), done: "variant-deleted" }
})

/** Writing, copying, switching and removing variants. */
export const layer = pages(({ action, asks, page }) => {
  const editorRoutes = (
    path: typeof editorPaths[number],
    read: "createVariant" | "getVariant",
    write: "createVariant" | "updateVariant",
  ) => [
    page(path, read, change),
    action(path, write, write === "createVariant" ? add : save, faulty),
    // Shows the form again and changes nothing, hence the rule of the preview.
    action(`${path}/draft`, "preview", rowAction, faulty),
    action(`${path}/save-person`, "saveSamplePerson", savePersonAction, faulty),
    action(`${path}/delete-person`, "deleteSamplePerson", deletePersonAction, faulty),
    action(`${path}/test`, "sendVariantTest", testAction, faulty),
  ]
  return [
    ...editorRoutes(editorPaths[0], "createVariant", "createVariant"),
    ...editorRoutes(editorPaths[1], "getVariant", "updateVariant"),
    action("/console/o/:org/templates/:template/variants/:variant/state", "updateVariant", stateAction),
    action("/console/o/:org/templates/:template/variants/:variant/duplicate", "createVariant", duplicateAction),
    ...asks("/console/o/:org/templates/:template/variants/:variant/delete", "deleteVariant", deletePage, remove),
  ]
})
