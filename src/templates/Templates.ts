import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import {
  AlreadyExists,
  type ChangeProposed,
  type ChecksBusy,
  type Fault,
  InvalidInput,
  type OrganizationNotFound,
  TemplateNotFound,
  VariantChanged,
  VariantNotFound,
} from "../domain/Errors.ts"
import { holdoutFault } from "../domain/Holdout.ts"
import { type OrgSlug, randomId, TemplateId } from "../domain/Ids.ts"
import type {
  Template,
  TemplateInput,
  TemplatePatch,
  Variant,
  VariantInput,
  VariantPatch,
  VariantSwitch,
} from "../domain/Template.ts"
import { SourceCheck } from "../rendering/SourceCheck.ts"
import { Changes } from "../organizations/Changes.ts"
import { tell } from "../store/ChangeTrail.ts"
import { existingOrganization } from "../organizations/Existing.ts"
import { contentWriter, readOwnProposal } from "./ContentWrite.ts"
import { variantFaults, variantListFaults } from "./ImportInput.ts"
import { variantContent } from "./ImportPlan.ts"
import { putVariants } from "./ImportRows.ts"
import { normalOwner, ownerFaults } from "./Owners.ts"
import { fieldsOfStored, fieldsOfVariant } from "./TemplateFields.ts"
import { keepVersions } from "./VariantVersions.ts"
import { insertVariant, isOf, maxVariantsOfOne, readTemplates, updateVariant, type Which } from "./TemplateRows.ts"

const jsonOrNull = (value: unknown): string | null => value == null ? null : JSON.stringify(value)

/** Reads, checks and changes the rows of templates. Callers hold the transaction. */
const makeContent = (sql: SqlClient.SqlClient, sources: SourceCheck["Service"]) => {
  const read = Effect.fnUntraced(function* (org: OrgSlug, id: string) {
    const [template] = yield* readTemplates(sql, org, [id])
    return template ?? (yield* new TemplateNotFound({ id }))
  })

  /** A template that is about to change, held until the transaction ends. */
  const held = Effect.fnUntraced(function* (org: OrgSlug, id: string) {
    yield* sql`SELECT 1 FROM templates t WHERE t.org_slug = ${org} AND t.id = ${id} FOR UPDATE`
    return yield* read(org, id)
  })

  const tellTemplate = (before: Template | undefined, after: Template | undefined) =>
    tell(
      "template",
      (after ?? before)!.id,
      before === undefined ? undefined : fieldsOfStored(before),
      after === undefined ? undefined : fieldsOfStored(after),
    )

  const tellVariant = (template: string, before: Variant | undefined, after: Variant | undefined) =>
    tell(
      "variant",
      `${template} / ${(after ?? before)!.id}`,
      before === undefined ? undefined : fieldsOfVariant(before),
      after === undefined ? undefined : fieldsOfVariant(after),
    )

  const readVariant = Effect.fnUntraced(function* (org: OrgSlug, template: string, id: string) {
    const { variants } = yield* read(org, template)
    return variants.find((variant) => variant.id === id) ?? (yield* new VariantNotFound({ id }))
  })

  /** Every fault of the variants of a new template, with pointers below `/variants`. */
  const faultsOf = Effect.fnUntraced(function* (org: OrgSlug, variants: ReadonlyArray<VariantInput>) {
    const liquid = yield* sources.checkAll(org, variants.map(({ formats = {}, vars }) => ({ formats, vars })))
    const found = new Map(variants.map((variant, index) => [variant, liquid[index]!]))
    return variantListFaults(variants, (variant) => found.get(variant)!, "/variants")
  })

  const liquidFaults = (org: OrgSlug, variant: Pick<VariantPatch, "vars" | "formats">) =>
    Effect.map(
      sources.checkAll(org, [{ vars: variant.vars ?? {}, formats: variant.formats ?? {} }]),
      ([liquid]) => variantFaults(variant, liquid!, ""),
    )

  /** Refuses a template with more variants than one may have, the one just added included. */
  const roomFor = Effect.fnUntraced(function* (org: OrgSlug, template: string) {
    const [row] = yield* sql<{ variants: number }>`
      SELECT count(*)::int AS variants FROM variants v WHERE v.org_slug = ${org} AND v.template_id = ${template}`
    if (row!.variants <= maxVariantsOfOne) return
    const detail = `The template has ${maxVariantsOfOne} variants, the most that one can have: delete one first`
    return yield* new InvalidInput({ faults: [{ pointer: "", detail }] })
  })

  const refuse = (faults: ReadonlyArray<Fault>) =>
    faults.length === 0 ? Effect.void : Effect.fail(new InvalidInput({ faults }))

  const holdoutFaults = (
    holdout: TemplatePatch["holdout"],
    variants: ReadonlyArray<{ readonly id?: string }>,
  ): ReadonlyArray<Fault> => {
    const detail = holdoutFault(holdout, variants)
    return detail === undefined ? [] : [{ pointer: "/holdout/copy_id", detail }]
  }

  const insert = Effect.fnUntraced(function* (org: OrgSlug, input: TemplateInput, now: Date) {
    const id = input.id ?? TemplateId.make(randomId("t"))
    const rows = yield* sql`
      INSERT INTO templates AS t
        (org_slug, id, name, strict, sticky_hours, objective, holdout, tracking, list_unsubscribe,
          link_domains, ignore_unsubscribes, conversion_events, tags, owner, archived_at, created_at, updated_at)
      VALUES (${org}, ${id}, ${input.name}, ${input.strict ?? false}, ${input.sticky_hours ?? 0},
        ${JSON.stringify(input.objective ?? "click")}::text::jsonb,
        ${jsonOrNull(input.holdout)}::text::jsonb, ${jsonOrNull(input.tracking)}::text::jsonb,
        ${input.list_unsubscribe ?? false}, ${[...input.link_domains ?? []]}::text[],
        ${input.ignore_unsubscribes ?? false}, ${[...input.conversion_events ?? []]}::text[],
        ${[...input.tags ?? []]}::text[], ${normalOwner(input.owner ?? null)},
        ${input.archived === true ? now : null}, ${now}, ${now})
      ON CONFLICT DO NOTHING RETURNING t.id`
    if (rows.length === 0) return yield* new AlreadyExists({ what: "template", id })
    const variants = (input.variants ?? []).map((variant) => ({ ...variantContent(variant), template_id: id }))
    if (variants.length > 0) yield* putVariants(sql, org, variants, now)
    return id
  })

  const change = Effect.fnUntraced(function* (org: OrgSlug, id: string, patch: TemplatePatch, now: Date) {
    const rows = yield* sql`
      UPDATE templates t SET
        name = coalesce(${patch.name ?? null}::text, t.name),
        strict = coalesce(${patch.strict ?? null}::boolean, t.strict),
        sticky_hours = coalesce(${patch.sticky_hours ?? null}::float8, t.sticky_hours),
        objective = coalesce(${
      patch.objective === undefined ? null : JSON.stringify(patch.objective)
    }::text::jsonb, t.objective),
        holdout = ${patch.holdout === undefined ? sql`t.holdout` : sql`${jsonOrNull(patch.holdout)}::text::jsonb`},
        tracking = ${patch.tracking === undefined ? sql`t.tracking` : sql`${jsonOrNull(patch.tracking)}::text::jsonb`},
        list_unsubscribe = coalesce(${patch.list_unsubscribe ?? null}::boolean, t.list_unsubscribe),
        link_domains = coalesce(${patch.link_domains ? [...patch.link_domains] : null}::text[], t.link_domains),
        ignore_unsubscribes = coalesce(${patch.ignore_unsubscribes ?? null}::boolean, t.ignore_unsubscribes),
        conversion_events = coalesce(${
      patch.conversion_events ? [...patch.conversion_events] : null
    }::text[], t.conversion_events),
        tags = coalesce(${patch.tags ? [...patch.tags] : null}::text[], t.tags),
        owner = ${patch.owner === undefined ? sql`t.owner` : sql`${normalOwner(patch.owner)}::text`},
        archived_at = CASE ${patch.archived ?? null}::boolean
          WHEN true THEN coalesce(t.archived_at, ${now}) WHEN false THEN NULL ELSE t.archived_at END,
        revision = nextval('template_revisions'),
        updated_at = ${now}
      WHERE t.org_slug = ${org} AND t.id = ${id} RETURNING t.id`
    if (rows.length === 0) return yield* new TemplateNotFound({ id })
  })
  return {
    read,
    held,
    tellTemplate,
    tellVariant,
    readVariant,
    faultsOf,
    liquidFaults,
    roomFor,
    refuse,
    holdoutFaults,
    insert,
    change,
  }
}

/** Ids that a switch of variants names although the template does not have them, or names twice. */
const switchFaults = (
  { activate = [], deactivate = [] }: VariantSwitch,
  variants: ReadonlyArray<Pick<Variant, "id">>,
): ReadonlyArray<Fault> => {
  const known = new Set<string>(variants.map(({ id }) => id))
  const both = new Set<string>(activate)
  const shown = (id: string) => JSON.stringify(id)
  return [
    ...activate.flatMap((id, at) =>
      known.has(id) ? [] : [{ pointer: `/activate/${at}`, detail: `The template has no variant ${shown(id)}` }]
    ),
    ...deactivate.flatMap((id, at) =>
      !known.has(id)
        ? [{ pointer: `/deactivate/${at}`, detail: `The template has no variant ${shown(id)}` }]
        : both.has(id)
        ? [{ pointer: `/deactivate/${at}`, detail: `The variant ${shown(id)} is in activate as well: name it once` }]
        : []
    ),
  ]
}

/** Creates, reads, changes and deletes variants. */
const makeVariants = (
  sql: SqlClient.SqlClient,
  write: ReturnType<typeof contentWriter>,
  { change, held, liquidFaults, read, readVariant, refuse, roomFor, tellVariant }: ReturnType<typeof makeContent>,
) => {
  const createVariant = Effect.fn("Templates.createVariant")(
    function* (org: OrgSlug, template: string, input: VariantInput) {
      yield* refuse(yield* liquidFaults(org, input))
      const now = yield* DateTime.nowAsDate
      return yield* write(
        org,
        [template],
        Effect.gen(function* () {
          yield* change(org, template, {}, now)
          const id = yield* insertVariant(sql, org, template, input, now)
          if (id === undefined) return yield* new AlreadyExists({ what: "variant", id: input.id ?? "" })
          yield* keepVersions(sql, org, [{ template_id: template, id }], "after")
          yield* roomFor(org, template)
          const made = yield* readVariant(org, template, id)
          yield* tellVariant(template, undefined, made)
          return made
        }),
      ).pipe(Effect.catchTag("VariantNotFound", Effect.die))
    },
  )

  const getVariant = Effect.fn("Templates.getVariant")(
    (org: OrgSlug, template: string, id: string) => readVariant(org, template, id),
    Effect.catchTag("SqlError", Effect.die),
  )

  /** The variant that a change goes on from: that of the caller's open proposal, or else the live one. */
  const ownVariant = Effect.fnUntraced(
    function* (org: OrgSlug, template: string, id: string) {
      const proposal = yield* readOwnProposal(sql, org, template)
      return proposal?.proposed?.variants.find((variant) => variant.id === id) ??
        (yield* readVariant(org, template, id))
    },
    Effect.catchTag("SqlError", Effect.die),
  )

  const patchVariant = Effect.fn("Templates.updateVariant")(
    function* (org: OrgSlug, template: string, id: string, patch: VariantPatch, base?: string) {
      const standing = yield* ownVariant(org, template, id)
      // Sources and formats are judged as they will stand together.
      yield* refuse(
        yield* liquidFaults(org, {
          vars: patch.vars ?? standing.vars,
          formats: patch.formats ?? standing.formats,
        }),
      )
      const now = yield* DateTime.nowAsDate
      return yield* write(
        org,
        [template],
        Effect.gen(function* () {
          yield* change(org, template, {}, now)
          const before = yield* readVariant(org, template, id)
          if (base !== undefined && base !== before.updated_at) {
            return yield* new VariantChanged({ id, base, current: before })
          }
          const versions = [{ template_id: template, id }]
          yield* keepVersions(sql, org, versions, "before")
          yield* updateVariant(sql, org, template, id, patch, now)
          yield* keepVersions(sql, org, versions, "after")
          const after = yield* readVariant(org, template, id)
          yield* tellVariant(template, before, after)
          return after
        }),
      )
    },
  )

  const removeVariant = Effect.fn("Templates.removeVariant")(
    function* (org: OrgSlug, template: string, id: string) {
      const now = yield* DateTime.nowAsDate
      yield* write(
        org,
        [template],
        Effect.gen(function* () {
          yield* change(org, template, {}, now)
          const before = yield* readVariant(org, template, id)
          yield* sql`
            DELETE FROM variant_drafts d
            WHERE d.org_slug = ${org} AND d.template_id = ${template} AND d.variant_id = ${id}`
          yield* sql`
            DELETE FROM variants v WHERE v.org_slug = ${org} AND v.template_id = ${template} AND v.id = ${id}`
          yield* tellVariant(template, before, undefined)
        }),
      )
    },
  )

  const switchVariants = Effect.fn("Templates.switchVariants")(
    function* (org: OrgSlug, template: string, input: VariantSwitch) {
      const now = yield* DateTime.nowAsDate
      return yield* write(
        org,
        [template],
        Effect.gen(function* () {
          const before = yield* held(org, template)
          yield* refuse(switchFaults(input, before.variants))
          const wanted = new Map<string, boolean>([
            ...(input.activate ?? []).map((id) => [id, true] as const),
            ...(input.deactivate ?? []).map((id) => [id, false] as const),
          ])
          const changed = before.variants.filter(({ active, id }) => (wanted.get(id) ?? active) !== active)
          if (changed.length === 0) return before
          yield* change(org, template, {}, now)
          yield* sql`
            UPDATE variants v SET active = NOT v.active, updated_at = ${now}
            WHERE v.org_slug = ${org} AND v.template_id = ${template}
              AND v.id = ANY(${changed.map(({ id }) => id)}::text[])`
          const after = yield* read(org, template)
          for (const one of changed) {
            yield* tellVariant(template, one, after.variants.find(({ id }) => id === one.id))
          }
          return after
        }),
      )
    },
  )
  return { createVariant, getVariant, patchVariant, removeVariant, switchVariants }
}

/**
 * Templates and their variants as their authors write them. A variant whose Liquid does not parse cannot be saved: that
 * is an `InvalidInput` with each fault at its place. Where approval is on, a change that affects what is served fails with
 * `ChangeProposed`: it waits as a proposal. A broken store is a defect everywhere here.
 */
export class Templates extends Context.Service<Templates, {
  /**
   * Creates a template. Fails with `OrganizationNotFound` for an unknown organization, `AlreadyExists` when the id is
   * taken, `InvalidInput`, listing every fault, for invalid content, and with `ChecksBusy` when too many checks are
   * waiting.
   */
  readonly create: (
    org: OrgSlug,
    input: TemplateInput,
  ) => Effect.Effect<Template, OrganizationNotFound | AlreadyExists | InvalidInput | ChecksBusy | ChangeProposed>
  /**
   * Up to `limit` templates by id, those after the id `cursor`; those in use unless said. Fails with
   * `OrganizationNotFound` for an unknown organization.
   */
  readonly list: (
    org: OrgSlug,
    page: { readonly cursor?: string | undefined; readonly limit: number; readonly which?: Which | undefined },
  ) => Effect.Effect<ReadonlyArray<Template>, OrganizationNotFound>
  /** Reads a template. Fails with `TemplateNotFound` for an unknown template. */
  readonly get: (org: OrgSlug, id: string) => Effect.Effect<Template, TemplateNotFound>
  /**
   * Fails with `TemplateNotFound` for an unknown template, and with `InvalidInput` for a holdout whose fixed variant the
   * template does not have, and for a new owner who is not a member.
   */
  readonly update: (
    org: OrgSlug,
    id: string,
    patch: TemplatePatch,
  ) => Effect.Effect<Template, TemplateNotFound | InvalidInput | ChangeProposed>
  /**
   * Removes the template with its variants. Decisions already made of it stay. Fails with `TemplateNotFound` for an
   * unknown template.
   */
  readonly remove: (org: OrgSlug, id: string) => Effect.Effect<void, TemplateNotFound | ChangeProposed>
  /**
   * Adds a variant. Fails with `TemplateNotFound` for an unknown template, `AlreadyExists` when the id is taken,
   * `InvalidInput`, listing every fault, for invalid content, and with `ChecksBusy` when too many checks are waiting.
   */
  readonly createVariant: (
    org: OrgSlug,
    template: string,
    input: VariantInput,
  ) => Effect.Effect<Variant, TemplateNotFound | AlreadyExists | InvalidInput | ChecksBusy | ChangeProposed>
  /**
   * Reads a variant. Fails with `TemplateNotFound` for an unknown template, and `VariantNotFound` for an unknown
   * variant.
   */
  readonly getVariant: (
    org: OrgSlug,
    template: string,
    id: string,
  ) => Effect.Effect<Variant, TemplateNotFound | VariantNotFound>
  /**
   * Updates a variant. With `base`, the `updated_at` of the version that the change was made from, fails with
   * `VariantChanged` if somebody has saved the variant since. Fails with `TemplateNotFound` for an unknown template, `VariantNotFound` for an unknown variant,
   * `InvalidInput`, listing every fault, for invalid content, and with `ChecksBusy` when too many checks are waiting.
   */
  readonly updateVariant: (
    org: OrgSlug,
    template: string,
    id: string,
    patch: VariantPatch,
    base?: string,
  ) => Effect.Effect<
    Variant,
    TemplateNotFound | VariantNotFound | VariantChanged | InvalidInput | ChecksBusy | ChangeProposed
  >
  /**
   * Activates and deactivates variants at once; those that are not named stay as they are. Returns the template. Fails
   * with `TemplateNotFound` for an unknown template, and with `InvalidInput`, listing every fault, for a variant that the
   * template does not have or that is to be both.
   */
  readonly switchVariants: (
    org: OrgSlug,
    template: string,
    input: VariantSwitch,
  ) => Effect.Effect<Template, TemplateNotFound | InvalidInput | ChangeProposed>
  /**
   * Removes a variant. Fails with `TemplateNotFound` for an unknown template, and `VariantNotFound` for an unknown
   * variant.
   */
  readonly removeVariant: (
    org: OrgSlug,
    template: string,
    id: string,
  ) => Effect.Effect<void, TemplateNotFound | VariantNotFound | ChangeProposed>
}>()("parlance/templates/Templates") {
  static readonly layer = Layer.effect(
    Templates,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const changes = yield* Changes
      const sources = yield* SourceCheck

      const write = contentWriter(sql, changes)

      const content = makeContent(sql, sources)
      const { change, faultsOf, held, holdoutFaults, insert, read, refuse, tellTemplate } = content

      const create = Effect.fn("Templates.create")(function* (org: OrgSlug, input: TemplateInput) {
        const variants = input.variants ?? []
        yield* refuse([
          ...holdoutFaults(input.holdout, variants),
          ...yield* Effect.orDie(ownerFaults(sql, org, input.owner, null)),
          ...yield* faultsOf(org, variants),
        ])
        const now = yield* DateTime.nowAsDate
        return yield* write(
          org,
          input.id === undefined ? [] : [input.id],
          Effect.gen(function* () {
            yield* existingOrganization(sql, org)
            const made = yield* read(org, yield* insert(org, input, now))
            yield* tellTemplate(undefined, made)
            return made
          }),
        ).pipe(Effect.catchTag("TemplateNotFound", Effect.die))
      })

      const list = Effect.fn("Templates.list")(
        function* (
          org: OrgSlug,
          page: { readonly cursor?: string | undefined; readonly limit: number; readonly which?: Which | undefined },
        ) {
          yield* existingOrganization(sql, org)
          const ids = yield* sql<{ id: string }>`
            SELECT t.id FROM templates t WHERE t.org_slug = ${org} AND t.id > ${page.cursor ?? ""}
              AND ${isOf(sql, page.which ?? "in-use")}
            ORDER BY t.id LIMIT ${page.limit}`
          return yield* readTemplates(sql, org, ids.map(({ id }) => id))
        },
        Effect.catchTag("SqlError", Effect.die),
      )

      const get = Effect.fn("Templates.get")(
        (org: OrgSlug, id: string) => read(org, id),
        Effect.catchTag("SqlError", Effect.die),
      )

      const update = Effect.fn("Templates.update")(function* (org: OrgSlug, id: string, patch: TemplatePatch) {
        const now = yield* DateTime.nowAsDate
        return yield* write(
          org,
          [id],
          Effect.gen(function* () {
            const before = yield* held(org, id)
            yield* refuse([
              ...holdoutFaults(patch.holdout, before.variants),
              ...yield* ownerFaults(sql, org, patch.owner, before.owner),
            ])
            yield* change(org, id, patch, now)
            const after = yield* read(org, id)
            yield* tellTemplate(before, after)
            return after
          }),
        )
      })

      const remove = Effect.fn("Templates.remove")((org: OrgSlug, id: string) =>
        write(
          org,
          [id],
          Effect.gen(function* () {
            const before = yield* held(org, id)
            yield* sql`DELETE FROM templates t WHERE t.org_slug = ${org} AND t.id = ${id}`
            yield* tellTemplate(before, undefined)
          }),
        )
      )

      const { createVariant, getVariant, patchVariant, removeVariant, switchVariants } = makeVariants(
        sql,
        write,
        content,
      )

      return Templates.of({
        create,
        list,
        get,
        update,
        remove,
        createVariant,
        getVariant,
        updateVariant: patchVariant,
        removeVariant,
        switchVariants,
      })
    }),
  )
}
