import { Context, DateTime, Effect, JsonPointer, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import { type Difference, difference, type RecordFields } from "../domain/Difference.ts"
import {
  type AlreadyExists,
  type ChangeProposed,
  type ChecksBusy,
  DraftChanged,
  DraftNotFound,
  InvalidInput,
  TemplateNotFound,
  type VariantChanged,
  VariantNotFound,
} from "../domain/Errors.ts"
import { decoder } from "../domain/Faults.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { type Template, type Variant, VariantInput } from "../domain/Template.ts"
import { readOwnProposal } from "./ContentWrite.ts"
import { freeId, idOfName } from "./SuggestedId.ts"
import { Templates } from "./Templates.ts"
import { ofVariant, placed, read, type VariantForm } from "./VariantForm.ts"
import { fieldsOfVariant } from "./TemplateFields.ts"

/** The place of a draft: its template, its variant (undefined for a new one), and its author as in the audit log. */
export interface DraftPlace {
  readonly template: string
  readonly variant: string | undefined
  readonly author: string
}

/** A draft without its text. */
export interface DraftHead {
  readonly variant: string | undefined
  readonly author: string
  /** `updated_at` of the variant from which the text was edited. Undefined for a new variant. */
  readonly base: string | undefined
  readonly savedAt: string
}

/** Unsaved text of the editor. */
interface StoredDraft extends DraftHead {
  readonly form: VariantForm
}

/** Whether a text is a time in the format of the service, such as `updated_at` of a variant or the time of a draft. */
export const isStoredTime = (text: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z$/.test(text) && !Number.isNaN(new Date(text).getTime())

/** Returns the differences between a draft and the present variant, or an empty variant. */
export const draftChanges = (form: VariantForm, live: Variant | undefined): Difference => {
  const content = read({ ...form, name: form.name.trim() === "" ? "-" : form.name, base: "" })
  if (Result.isSuccess(content)) {
    const { id: _, ...stored } = live ?? { id: "" }
    return difference(
      live === undefined ? undefined : fieldsOfVariant(stored as Variant),
      fieldsOfVariant({ ...content.success, name: form.name.trim() } as Variant),
    )
  }
  return difference(live === undefined ? undefined : fieldsOfForm(ofVariant(live)), fieldsOfForm(form))
}

/** Returns the fields of a form as written, for a form that cannot be read as a variant. */
const fieldsOfForm = (form: VariantForm): RecordFields => ({
  "/name": form.name,
  "/active": form.active,
  ...Object.fromEntries(form.variables.flatMap(({ format, name, source }, at) => {
    const token = JsonPointer.escapeToken(name.trim() || `variable ${at + 1}`)
    return [[`/vars/${token}`, source], ...(format === "text" ? [] : [[`/formats/${token}`, format]])]
  })),
  ...Object.fromEntries(
    (form.locales ?? []).flatMap(({ locale, texts }) =>
      texts.map((
        { name, source },
      ) => [`/locales/${JsonPointer.escapeToken(locale)}/${JsonPointer.escapeToken(name)}`, source])
    ),
  ),
  "/targeting": form.conditions,
  "/seasons": form.seasons,
  "/components": form.components,
})

const decodeInput = decoder(VariantInput)

interface Row {
  readonly variantId: string
  readonly author: string
  readonly base: Date | null
  readonly savedAt: Date
}

const headOf = ({ author, base, savedAt, variantId }: Row): DraftHead => ({
  variant: variantId === "" ? undefined : variantId,
  author,
  base: base?.toISOString(),
  savedAt: savedAt.toISOString(),
})

/** Reads, stores and discards drafts. */
const makeStore = (sql: SqlClient.SqlClient) => {
  const at = (org: OrgSlug, { author, template, variant = "" }: DraftPlace) =>
    sql`d.org_slug = ${org} AND d.template_id = ${template} AND d.variant_id = ${variant} AND d.author = ${author}`

  const list = Effect.fn("Drafts.list")(
    function* (org: OrgSlug, template: string) {
      const rows = yield* sql<Row>`
        SELECT d.variant_id, d.author, d.base, d.saved_at FROM variant_drafts d
        WHERE d.org_slug = ${org} AND d.template_id = ${template} ORDER BY d.saved_at DESC LIMIT 1000`
      return rows.map(headOf)
    },
    Effect.catchTag("SqlError", Effect.die),
  )

  const countsOf = Effect.fn("Drafts.countsOf")(
    function* (org: OrgSlug, templates: ReadonlyArray<string>) {
      const rows = yield* sql<{ readonly id: string; readonly drafts: number }>`
        SELECT d.template_id AS id, count(*)::float8 AS drafts FROM variant_drafts d
        WHERE d.org_slug = ${org} AND d.template_id = ANY(${templates}::text[]) GROUP BY d.template_id`
      return new Map(rows.map(({ drafts, id }) => [id, drafts]))
    },
    Effect.catchTag("SqlError", Effect.die),
  )

  const find = Effect.fn("Drafts.find")(
    function* (org: OrgSlug, place: DraftPlace) {
      const [row] = yield* sql<Row & { form: VariantForm }>`
        SELECT d.variant_id, d.author, d.base, d.saved_at, d.form FROM variant_drafts d WHERE ${at(org, place)}`
      return row === undefined ? undefined : { ...headOf(row), form: row.form } satisfies StoredDraft
    },
    Effect.catchTag("SqlError", Effect.die),
  )

  const put = Effect.fn("Drafts.put")(
    function* (org: OrgSlug, place: DraftPlace, { base, form, replaces }: DraftText) {
      const { author, template, variant } = place
      const [known] = yield* sql<{ variant: boolean }>`
        SELECT ${variant ?? null}::text IS NULL OR EXISTS (
          SELECT 1 FROM variants v WHERE v.org_slug = ${org} AND v.template_id = ${template} AND v.id = ${variant ?? ""}
        ) AS variant
        FROM templates t WHERE t.org_slug = ${org} AND t.id = ${template}`
      if (known === undefined) return yield* new TemplateNotFound({ id: template })
      if (!known.variant) {
        // A variant that is part of a proposal exists only for the proposal's author.
        const proposal = yield* readOwnProposal(sql, org, template)
        const isProposed = proposal?.proposed?.variants.some(({ id }) => id === variant) === true
        if (!isProposed) return yield* new VariantNotFound({ id: variant! })
      }
      const now = yield* DateTime.nowAsDate
      const isFree = replaces === undefined
        ? sql`true`
        : replaces === null
        ? sql`false`
        : sql`d.saved_at = ${replaces}::timestamptz`
      const [row] = yield* sql<Row>`
        INSERT INTO variant_drafts AS d (org_slug, template_id, variant_id, author, form, base, saved_at)
        VALUES (${org}, ${template}, ${variant ?? ""}, ${author}, ${JSON.stringify(form)}::text::json,
          ${base ?? null}::timestamptz, ${now})
        ON CONFLICT (org_slug, template_id, variant_id, author) DO UPDATE SET form = excluded.form, base = excluded.base,
          -- A draft is told apart from the one before by its time.
          saved_at = greatest(excluded.saved_at, d.saved_at + interval '1 millisecond')
        WHERE ${isFree}
        RETURNING d.variant_id, d.author, d.base, d.saved_at`
      return row === undefined ? yield* new DraftChanged() : headOf(row)
    },
    Effect.catchTag("SqlError", Effect.die),
  )

  const discard = Effect.fn("Drafts.discard")(
    (org: OrgSlug, place: DraftPlace, savedAt?: string) =>
      Effect.asVoid(sql`
        DELETE FROM variant_drafts d
        WHERE ${at(org, place)} AND ${savedAt === undefined ? sql`true` : sql`d.saved_at = ${savedAt}::timestamptz`}`),
    Effect.catchTag("SqlError", Effect.die),
  )
  return { countsOf, discard, find, list, put }
}

/** The content of a draft. */
interface DraftText {
  readonly form: VariantForm
  /** `updated_at` of the variant from which the text was edited. */
  readonly base: string | undefined
  /** `savedAt` of the draft that this one may replace. Null: no draft may exist. Undefined: any draft is replaced. */
  readonly replaces?: string | null | undefined
}

/** Returns the id of a new variant: as written, or derived from the name. Undefined without a name. */
export const newIdOf = ({ id, name }: Pick<VariantForm, "id" | "name">, { variants }: Template): string | undefined => {
  if (id !== "") return id
  if (name.trim() === "") return undefined
  const taken = new Set<string>(variants.map((one) => one.id))
  return freeId(idOfName(name) || "variant", (one) => taken.has(one))
}

/**
 * Drafts: text in the editor that is not saved yet, in addition to the served variant. Each author has one draft for
 * each variant, and one for a new variant of each template.
 */
export class Drafts extends Context.Service<Drafts, {
  /** Returns the drafts of a template, latest first. */
  readonly list: (org: OrgSlug, template: string) => Effect.Effect<ReadonlyArray<DraftHead>>
  /** Returns the number of drafts of each of the templates that has some. */
  readonly countsOf: (org: OrgSlug, templates: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, number>>
  /** Returns a draft, or undefined without one. */
  readonly find: (org: OrgSlug, place: DraftPlace) => Effect.Effect<StoredDraft | undefined>
  /**
   * Stores a draft in place of the author's last one. Fails with `TemplateNotFound` or `VariantNotFound`, and with
   * `DraftChanged` if the stored draft is not the one that it may replace.
   */
  readonly put: (
    org: OrgSlug,
    place: DraftPlace,
    draft: DraftText,
  ) => Effect.Effect<DraftHead, TemplateNotFound | VariantNotFound | DraftChanged>
  /** Removes a draft if it exists. With `savedAt`, removes only the draft of that time. */
  readonly discard: (org: OrgSlug, place: DraftPlace, savedAt?: string) => Effect.Effect<void>
  /**
   * Saves a draft as the variant and removes the draft. Fails with `DraftNotFound` without a draft, `VariantChanged` if
   * another person has saved the variant since the draft was begun, `InvalidInput` with every fault of the text, and
   * with the errors of `Templates`.
   */
  readonly publish: (
    org: OrgSlug,
    place: DraftPlace,
  ) => Effect.Effect<
    Variant,
    | AlreadyExists
    | ChangeProposed
    | ChecksBusy
    | DraftNotFound
    | InvalidInput
    | TemplateNotFound
    | VariantChanged
    | VariantNotFound
  >
}>()("parlance/templates/Drafts") {
  static readonly layer = Layer.effect(
    Drafts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const templates = yield* Templates
      const store = makeStore(sql)

      const publish = Effect.fn("Drafts.publish")(function* (org: OrgSlug, place: DraftPlace) {
        const draft = yield* store.find(org, place)
        if (draft === undefined) return yield* new DraftNotFound()
        const form = { ...draft.form, base: draft.base ?? "" }
        const refused = (error: InvalidInput) => new InvalidInput({ faults: placed(form, error.faults) })
        // A text that awaits approval counts as saved.
        const done = () => store.discard(org, place)
        const content = read(form)
        if (Result.isFailure(content)) return yield* new InvalidInput({ faults: content.failure })
        if (place.variant !== undefined) {
          const saved = yield* templates.updateVariant(org, place.template, place.variant, content.success, draft.base)
            .pipe(Effect.catchTag("InvalidInput", refused), Effect.tapErrorTag("ChangeProposed", done))
          yield* done()
          return saved
        }
        const id = newIdOf(form, yield* templates.get(org, place.template))
        const input = decodeInput({ ...content.success, ...(id === undefined ? {} : { id }) })
        if (Result.isFailure(input)) return yield* new InvalidInput({ faults: input.failure })
        const made = yield* templates.createVariant(org, place.template, input.success).pipe(
          Effect.catchTag("InvalidInput", refused),
          Effect.tapErrorTag("ChangeProposed", done),
        )
        yield* done()
        return made
      })

      return Drafts.of({ ...store, publish })
    }),
  )
}
