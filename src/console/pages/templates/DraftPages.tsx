import { Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { isDeepStrictEqual } from "node:util"
import { DraftNotFound, type Fault, InvalidInput } from "../../../domain/Errors.ts"
import type { Template, Variant } from "../../../domain/Template.ts"
import { t } from "../../../languages/Language.ts"
import { combineForms } from "../../../templates/CombinedForm.ts"
import { draftChanges, Drafts } from "../../../templates/Drafts.ts"
import { type Layout, layoutOf, withLayout } from "../../../templates/Layouts.ts"
import { type Draft, ofVariant, read } from "../../../templates/VariantForm.ts"
import { restoredBy, VariantVersions } from "../../../templates/VariantVersions.ts"
import { Card } from "../../components/Card.tsx"
import { PostButton } from "../../components/Form.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { Time } from "../../components/Time.tsx"
import { dateTime } from "../../Format.ts"
import type { PageRequest } from "../../RawRoutes.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Fields, Visit } from "../../Routes.tsx"
import { DifferenceView } from "../history/ChangeList.tsx"
import { ofFields } from "./Draft.ts"
import { DiscardDraft, OtherDraftsNote, OwnDraftNote } from "./DraftNotes.tsx"
import {
  editor,
  editorFields,
  editorPaths,
  faulty,
  here,
  home,
  isOvertaken,
  keepDraft,
  opened,
  type OpenedVariant,
  placeOf,
  resent,
  timeOf,
} from "./EditorPage.tsx"
import { blankOf } from "./NewDraft.ts"

/** The text that the editor begins with where there is no draft. */
const begunWith = ({ of, stored }: OpenedVariant, layout: Layout | undefined): Draft => {
  if (stored !== undefined) return ofVariant(stored)
  return layout === undefined ? blankOf(of) : withLayout(blankOf(of), layout)
}

/** The editor with the draft that the query names, or else the visitor's draft, or else the stored text. */
export const withDrafts = Effect.fnUntraced(function* (visit: Visit, at: OpenedVariant) {
  const drafts = yield* Drafts
  const { org: { slug }, query } = visit
  const [path, place] = [here(visit), placeOf(visit)]
  const all = (yield* drafts.list(slug, place.template)).filter(({ variant }) => variant === place.variant)
  const own = all.find(({ author }) => author === place.author)
  const author = query.get("draft") ?? place.author
  const shown = yield* drafts.find(slug, { ...place, author })
  const layout = layoutOf(query.get("layout"))
  const begun = begunWith(at, layout)
  const isOther = shown !== undefined && author !== place.author
  return yield* editor(visit, at, {
    draft: shown === undefined ? begun : { ...shown.form, base: shown.base ?? begun.base },
    known: own?.savedAt ?? "",
    notes: (
      <>
        {own !== undefined && !isOther && (
          <OwnDraftNote draft={own} isNew={at.stored === undefined} path={path} visit={visit} />
        )}
        {isOther && (
          <Note kind="warn">
            {own === undefined
              ? t`The text of the draft by ${author}. A draft that you save is your own.`
              : t`The text of the draft by ${author}. A draft that you save is your own and replaces yours of ${(
                <Time at={own.savedAt} zone={visit.org.time_zone} />
              )}.`}
          </Note>
        )}
        <OtherDraftsNote drafts={all.filter((one) => one !== own)} path={path} visit={visit} />
      </>
    ),
    unsaved: isOther || (at.stored === undefined && shown === undefined && layout !== undefined),
  })
})

/** The editor with the visitor's text and that which somebody else has saved meanwhile in one. */
export const combined = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const at = yield* opened(visit)
  const own = ofFields(fields)
  const [{ stored }, base] = [at, timeOf(own.base)]
  const version = stored === undefined || base === undefined
    ? undefined
    : yield* (yield* VariantVersions).findAt(visit.org.slug, at.of.id, stored.id, base)
  if (stored === undefined || version === undefined) return yield* resent(visit, fields)
  const { both, form } = combineForms(ofVariant({ ...stored, ...restoredBy(version) }), own, ofVariant(stored))
  return yield* resent(visit, fields, {
    draft: { ...form, base: stored.updated_at },
    notes: (
      <Note kind={both.length === 0 ? "good" : "warn"}>
        {t`The form has the changes of both texts.`}{" "}
        {both.length !== 0 && t`Both changed ${both.join(", ")}: your text is kept there.`}
      </Note>
    ),
  })
})

const json = (body: unknown, status = 200) =>
  HttpServerResponse.jsonUnsafe(body, { status, headers: { "cache-control": "no-store" } })

/** Whether a form is equal to the stored variant. For a new variant, whether the form is empty. */
const isUnchanged = (draft: Draft, of: Template, stored: Variant | undefined): boolean => {
  if (stored === undefined) return isDeepStrictEqual({ ...draft, base: "" }, blankOf(of))
  const content = read(draft)
  const { created_at: _, id: __, updated_at: ___, ...fields } = stored
  return Result.isSuccess(content) && isDeepStrictEqual({ ...content.success }, { ...fields })
}

/** Stores the text of the form while somebody types. Text as it is stored needs no draft. */
const autosave = Effect.fnUntraced(function* (ask: PageRequest) {
  const { fields, org } = ask
  const { of, stored } = yield* opened(ask)
  const draft = ofFields(fields)
  if (isUnchanged(draft, of, stored)) {
    yield* (yield* Drafts).discard(org.slug, placeOf(ask), editorFields(fields).draft)
    return json({ saved_at: "", text: t`No changes` })
  }
  return yield* keepDraft(ask, fields).pipe(
    Effect.map(({ savedAt }) =>
      json({
        saved_at: savedAt,
        text: t`Draft saved ${dateTime(new Date(savedAt), org.time_zone)}`,
        is_overtaken: isOvertaken(draft, stored),
      })
    ),
    Effect.catchTags({
      DraftChanged: ({ message }) => Effect.succeed(json({ text: message }, 409)),
      InvalidInput: ({ faults }) => Effect.succeed(json({ text: faults.map(({ detail }) => detail).join("; ") }, 400)),
    }),
  )
})

/** The draft that a page of it is about, named by its author. */
const found = Effect.fnUntraced(function* (visit: Visit, author: string) {
  const at = yield* opened(visit)
  const draft = yield* (yield* Drafts).find(visit.org.slug, { ...placeOf(visit), author })
  return { at, draft: draft ?? (yield* new DraftNotFound()) }
})

/** A draft and what it changes. */
const draftPage = Effect.fnUntraced(function* (visit: Visit, author: string, faults: ReadonlyArray<Fault> = []) {
  const { at: { of, stored }, draft } = yield* found(visit, author)
  const path = here(visit)
  const isOwn = draft.author === placeOf(visit).author
  const title = `${isOwn ? t`Your draft` : t`Draft by ${draft.author}`}: ${stored?.name ?? t`new variant`}`
  const canEdit = visit.can(stored === undefined ? "createVariant" : "updateVariant")
  return view(
    {
      title,
      back: { href: home(visit), label: of.name },
      lead: (
        <>
          {t`Saved ${<Time at={draft.savedAt} zone={visit.org.time_zone} />}. It is not live.`}
        </>
      ),
      actions: canEdit
        ? (
          <>
            <PostButton to={`${path}/publish-draft`} fields={{ author: draft.author }} kind="primary">
              {t`Publish draft`}
            </PostButton>
            <a class="button" href={isOwn ? path : `${path}?${new URLSearchParams({ draft: draft.author })}`}>
              {t`Edit`}
            </a>
            {isOwn && <DiscardDraft path={path} savedAt={draft.savedAt} />}
          </>
        )
        : null,
    },
    <ErrorSummary faults={faults} />,
    isOvertaken({ ...draft.form, base: draft.base ?? "" }, stored) && (
      <Note kind="warn">
        {t`Somebody has saved the variant since this draft was begun. Edit the draft to see both texts and to
          combine them.`}
      </Note>
    ),
    <Card title={stored === undefined ? t`Content` : t`Changes`} lead={t`Publishing the draft makes these changes.`}>
      <DifferenceView changes={draftChanges(draft.form, stored)} />
    </Card>,
  )
})

const publish = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { draft } = yield* found(visit, editorFields(fields).author)
  const { id } = yield* (yield* Drafts).publish(visit.org.slug, { ...placeOf(visit), author: draft.author }).pipe(
    Effect.catchTags({
      AlreadyExists: ({ message }) => new InvalidInput({ faults: [{ pointer: "", detail: message }] }),
      VariantChanged: () =>
        new InvalidInput({
          faults: [{ pointer: "", detail: t`Somebody has saved the variant since this draft was begun` }],
        }),
      // The fields of the form are not on this page.
      InvalidInput: ({ faults }) =>
        new InvalidInput({
          faults: faults.map(({ detail, pointer }) => ({ pointer: "", detail: `${pointer.slice(1)}: ${detail}` })),
        }),
    }),
  )
  return { to: `${home(visit)}?at=${encodeURIComponent(id)}`, done: "variant-saved" }
})

const discard = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  yield* (yield* Drafts).discard(visit.org.slug, placeOf(visit), editorFields(fields).draft)
  return { to: here(visit), done: "draft-discarded" }
})

const saveDraft = (visit: Visit, fields: Fields) =>
  Effect.as(keepDraft(visit, fields), { to: here(visit), done: "draft-saved" }).pipe(
    Effect.catchTag("DraftChanged", ({ message }) => new InvalidInput({ faults: [{ pointer: "", detail: message }] })),
  )

/** Drafts of the editor: stored while somebody types, shown, published and discarded. */
export const layer = pages(({ action, page, route }) =>
  editorPaths.flatMap((path) => [
    page(`${path}/draft`, "getDraft", (visit) => draftPage(visit, visit.query.get("author") ?? placeOf(visit).author)),
    route("POST", `${path}/autosave`, "putDraft", autosave),
    action(`${path}/save-draft`, "putDraft", saveDraft, faulty),
    action(`${path}/discard-draft`, "discardDraft", discard),
    action(
      `${path}/publish-draft`,
      "publishDraft",
      publish,
      (visit, fields, faults) => draftPage(visit, editorFields(fields).author, faults),
    ),
  ])
)
