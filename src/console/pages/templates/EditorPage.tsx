import { view } from "../../View.tsx"
import { Effect, Result } from "effect"
import { SecureRandom } from "effect/crypto"
import type { ComponentChildren } from "preact"
import { type Actor, nameOf } from "../../../accounts/Actor.ts"
import { Connections } from "../../../delivery/Connections.ts"
import type { TestSent } from "../../../delivery/receivers/GroupTest.ts"
import { TestGroups } from "../../../delivery/receivers/TestGroups.ts"
import { AttributeStatistics } from "../../../learning/AttributeStatistics.ts"
import { type Fault, InvalidInput, VariantNotFound } from "../../../domain/Errors.ts"
import { decoder } from "../../../domain/Faults.ts"
import type { Template, Variant } from "../../../domain/Template.ts"
import { t } from "../../../languages/Language.ts"
import { type DraftPlace, Drafts, isStoredTime } from "../../../templates/Drafts.ts"
import { Proposals } from "../../../templates/Proposals.ts"
import { type Draft, VariantForm } from "../../../templates/VariantForm.ts"
import { VariantVersions } from "../../../templates/VariantVersions.ts"
import { assets } from "../../Assets.ts"
import { Note } from "../../components/Note.tsx"
import { formFields, ifSent, type Reader, text, typed } from "../../FormReaders.ts"
import type { Fields, Visit } from "../../Routes.tsx"
import { ConflictCard } from "./ConflictCard.tsx"
import { lookOf, ofFields, type PreviewLook, type Sample } from "./Draft.ts"
import { samplesOf } from "./NewDraft.ts"
import { inputsOf, sampleOf } from "./SampleInputs.tsx"
import { offersSuggestions } from "./SuggestionPages.tsx"
import { templatePath, variantPath } from "./Paths.ts"
import { type OfferedPeople, offeredPeople } from "./PersonPicker.tsx"
import { sampleFields } from "./SampleFields.ts"
import { DraftNote, draftWarning } from "./SendNote.tsx"
import { VariantEditor } from "./VariantEditor.tsx"
import { recipientsIn, TestNote, type TestRecipients } from "./VariantTest.tsx"

// The page of the editor, for a variant and for a new one.

/** The paths of the editor. */
export const editorPaths = [
  "/console/o/:org/templates/:template/new-variant",
  "/console/o/:org/templates/:template/variants/:variant",
] as const

/** The parts of a request that name a variant and its draft. */
type VariantRequest = Pick<Visit, "org" | "params"> & { readonly actor: Actor }

/** Returns an id of the path. */
export const idOf = ({ params }: Pick<VariantRequest, "params">, name: "template" | "variant") => params[name] ?? ""

/** The path of the template. */
export const home = (visit: Visit) => templatePath(visit.org.slug, idOf(visit, "template"))

/** The path of the editor. */
export const here = (visit: Visit) =>
  visit.params["variant"] === undefined
    ? `${home(visit)}/new-variant`
    : variantPath(visit.org.slug, idOf(visit, "template"), idOf(visit, "variant"))

/** The template and variant of the editor. */
export interface OpenedVariant {
  /** The template with the visitor's proposed changes. */
  readonly of: Template
  /** Undefined for a new variant. */
  readonly stored: Variant | undefined
  /** The visitor's proposal that `of` is taken from. */
  readonly proposal: number | undefined
}

/** Reads the template and variant of a path. Fails with `TemplateNotFound` or `VariantNotFound`. */
export const opened = Effect.fnUntraced(function* (visit: VariantRequest) {
  const { proposal, template: of } = yield* (yield* Proposals).working(visit.org.slug, idOf(visit, "template"))
  if (visit.params["variant"] === undefined) return { of, stored: undefined, proposal } satisfies OpenedVariant
  const id = idOf(visit, "variant")
  const stored = of.variants.find((one) => one.id === id) ?? (yield* new VariantNotFound({ id }))
  return { of, stored, proposal } satisfies OpenedVariant
})

/** The place of the visitor's draft. */
export const placeOf = (visit: VariantRequest): DraftPlace => ({
  template: idOf(visit, "template"),
  variant: visit.params["variant"] === undefined ? undefined : idOf(visit, "variant"),
  author: nameOf(visit.actor),
})

/** A time that the service wrote into the form; undefined for anything else. */
export const timeOf = (text: string | undefined): string | undefined =>
  text !== undefined && isStoredTime(text) ? text : undefined

/** Fields of the editor's forms in addition to the variant. */
export const editorFields = formFields({
  /** The button that sent the form. */
  do: typed,
  /** Time of the visitor's stored draft when the page was made. Undefined without a draft. */
  draft: timeOf,
  author: typed,
  active: (sent) => sent === "true",
  /** The version that the page showed. */
  over: ifSent(typed) as Reader<string | undefined>,
  person: typed,
  person_name: text,
})

const decodeForm = decoder(VariantForm)

/** Stores the text of a form as the visitor's draft. Fails with `InvalidInput` for texts that are too long. */
export const keepDraft = Effect.fnUntraced(function* (visit: VariantRequest, fields: Fields) {
  const { base, ...written } = ofFields(fields)
  const form = decodeForm(written)
  if (Result.isFailure(form)) return yield* new InvalidInput({ faults: form.failure })
  return yield* (yield* Drafts).put(visit.org.slug, placeOf(visit), {
    form: form.success,
    base: timeOf(base),
    replaces: editorFields(fields).draft ?? null,
  })
})

/** Names that the editor suggests. */
const hintsOf = Effect.fnUntraced(function* (visit: Visit, of: Template) {
  const days = yield* Effect.orDie((yield* AttributeStatistics).read(visit.org.slug, of.id))
  const attributes = new Set([
    ...days.flatMap(({ keys }) => keys.map(([name]) => name)),
    ...of.variants.flatMap(({ targeting }) => targeting.map(({ attribute }) => attribute)),
  ])
  return {
    nonce: SecureRandom.uuidV7Unsafe(),
    fields: { unsubscribe_url: "", ...sampleFields(of.variants.map(({ vars }) => vars)) },
    attributes: [...attributes].sort(),
  }
})

/** Says where changes go that need approval. */
const ApprovalNote = ({ proposal, visit: { org } }: { readonly proposal: number | undefined; readonly visit: Visit }) =>
  proposal !== undefined
    ? (
      <Note>
        {t`You edit ${(
          <a href={`/console/o/${org.slug}/reviews/${proposal}`}>{t`your change that waits for approval`}</a>
        )}.`}
      </Note>
    )
    : org.template_approval === "none"
    ? null
    : <Note>{t`A change of an active variant goes live once it is approved.`}</Note>

/** Whether somebody has saved the variant since the text of a form was begun. */
export const isOvertaken = (draft: Draft, stored: Variant | undefined): stored is Variant =>
  stored !== undefined && draft.base !== "" && draft.base !== stored.updated_at

/** Both texts where somebody has saved the variant since the text of the form was begun. */
const conflictOf = Effect.fnUntraced(function* (visit: Visit, draft: Draft, stored: Variant | undefined) {
  const versions = yield* VariantVersions
  if (!isOvertaken(draft, stored)) return null
  const version = (at: string | undefined) =>
    at === undefined
      ? Effect.succeed(undefined)
      : versions.findAt(visit.org.slug, idOf(visit, "template"), stored.id, at)
  const saved = yield* version(stored.updated_at)
  return (
    <ConflictCard
      canCombine={(yield* version(timeOf(draft.base))) !== undefined}
      form={draft}
      path={here(visit)}
      saved={saved?.saved_at === stored.updated_at ? saved : undefined}
      stored={stored}
      zone={visit.org.time_zone}
    />
  )
})

/** The state of the editor's form. */
export interface EditorState {
  readonly draft: Draft
  /** Time of the visitor's stored draft when the page was made. Empty without a draft. */
  readonly known?: string
  readonly faults?: ReadonlyArray<Fault>
  readonly look?: PreviewLook
  /** Default: the saved people. */
  readonly people?: OfferedPeople
  /** Shown above the form. */
  readonly notes?: ComponentChildren
  readonly sample?: Sample
  /** The recipients of a test message, and its results once it was sent. */
  readonly test?: TestRecipients & { readonly sent: ReadonlyArray<TestSent> }
  readonly unsaved?: boolean
}

/** The page of the editor. */
export const editor = Effect.fnUntraced(function* (
  visit: Visit,
  { of, proposal, stored }: OpenedVariant,
  { draft, faults = [], known = "", look = lookOf(() => undefined), notes, people, sample, test, unsaved = false }:
    EditorState,
) {
  const hints = yield* hintsOf(visit, of)
  const used = sample ?? samplesOf(of)
  const path = here(visit)
  const title = stored === undefined ? t`New variant` : stored.name
  const query = new URLSearchParams({ ...used })
  const connections = yield* Connections
  const suggests = yield* offersSuggestions(visit, of)
  const isStored = stored !== undefined && !unsaved && known === "" && faults.length === 0
  return view(
    {
      title,
      live: true,
      styleNonce: hints.nonce,
      back: { href: home(visit), label: of.name },
      lead: stored === undefined ? t`A variant of ${of.name}.` : (
        <>
          {t`Variant ${<code>{stored.id}</code>} of ${of.name}.`}
        </>
      ),
      actions: (
        <>
          {suggests && <a class="button" href={`${home(visit)}/suggestions`}>{t`Suggest variants`}</a>}
          {stored !== undefined && visit.can("listVersions") && (
            <a class="button" href={`${path}/versions`}>{t`Versions`}</a>
          )}
        </>
      ),
    },
    unsaved && <Note kind="warn">{t`Not saved yet.`}</Note>,
    <ApprovalNote proposal={proposal} visit={visit} />,
    notes,
    test !== undefined && <TestNote sent={test.sent} />,
    yield* conflictOf(visit, draft, stored),
    <DraftNote warning={draftWarning(connections, visit.org.slug, draft)} />,
    <VariantEditor
      canKeep={visit.can("putDraft")}
      canSavePeople={visit.can("saveSamplePerson")}
      people={people ?? (yield* offeredPeople(visit, of.id, undefined))}
      draft={draft}
      faults={faults}
      known={known}
      sample={used}
      inputs={inputsOf(draft, used)}
      look={look}
      hints={hints}
      isNew={stored === undefined}
      locale={of.locale}
      isUnsaved={unsaved}
      over={stored?.updated_at ?? ""}
      save={path}
      again={`${path}/draft`}
      preview={`${home(visit)}/preview`}
      images={`/console/o/${visit.org.slug}/images`}
      snippets={visit.can("saveSnippet") ? `/console/o/${visit.org.slug}/snippets` : ""}
      parts={connections.active(visit.org.slug)?.variables ?? {}}
      back={home(visit)}
      test={visit.can("sendVariantTest")
        ? {
          to: test?.to ?? visit.session.account.email,
          groups: test?.groups ?? [],
          offered: yield* (yield* TestGroups).list(visit.org.slug),
          create: visit.can("putTestGroup") ? `/console/o/${visit.org.slug}/settings/test-groups/-/new` : undefined,
        }
        : undefined}
      timeZone={visit.org.time_zone}
      {...(isStored ? { stored: `${path}/preview?${query}` } : {})}
    />,
    <script type="module" src={assets.editor}></script>,
    <script type="module" src={assets.templates}></script>,
    <script type="module" src={assets.drafts}></script>,
  )
})

/** The editor with the fields that a form of it sent. */
export const resent = Effect.fnUntraced(function* (visit: Visit, fields: Fields, more: Partial<EditorState> = {}) {
  const at = yield* opened(visit)
  const recipients = recipientsIn(fields)
  return yield* editor(visit, at, {
    people: yield* offeredPeople(visit, at.of.id, fields),
    draft: ofFields(fields),
    known: fields["draft"] ?? "",
    look: lookOf((name) => fields[name]),
    sample: sampleOf((name) => fields[name], samplesOf(at.of)),
    ...(recipients === undefined ? {} : { test: { ...recipients, sent: [] } }),
    unsaved: true,
    ...more,
  })
})

/** The editor with the faults of the sent fields. */
export const faulty = (visit: Visit, fields: Fields, faults: ReadonlyArray<Fault>) => resent(visit, fields, { faults })
