import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type {
  AlreadyExists,
  ChangeProposed,
  ChecksBusy,
  InvalidInput,
  OrganizationNotFound,
  TemplateNotFound,
  VariantChanged,
  VariantNotFound,
} from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import {
  type Template,
  type TemplateInput,
  type TemplatePatch,
  type Variant,
  type VariantInput,
  type VariantPatch,
  withDefaults,
} from "../domain/Template.ts"
import type { VariantSwitch } from "../domain/TemplateSwitches.ts"
import { templateFaults } from "../domain/TemplateFaults.ts"
import { Changes } from "../organizations/Changes.ts"
import { existingOrganization } from "../organizations/Existing.ts"
import { SourceCheck } from "../rendering/SourceCheck.ts"
import { contentWriter } from "./ContentWrite.ts"
import { patchedContent } from "./ImportPlan.ts"
import { ownerFaults } from "./Owners.ts"
import { refuse, tellTemplate, templateContent, type TemplateOutline } from "./TemplateContent.ts"
import { holdSnippets } from "./SnippetRows.ts"
import { isOf, readTemplates, type Which } from "./TemplateRows.ts"
import { variantWriter } from "./VariantWriter.ts"

/**
 * Templates and their variants, as authors edit them. A variant whose Liquid does not parse cannot be saved: the save
 * fails with `InvalidInput` and every fault with its position. If approval is on, a change that affects live messages
 * fails with `ChangeProposed` and becomes a proposal. A broken store is a defect in all methods.
 */
export class Templates extends Context.Service<Templates, {
  /**
   * Creates a template. Fails with `OrganizationNotFound` for an unknown organization, `AlreadyExists` if the id is
   * taken, `InvalidInput` with every fault of invalid content, and `ChecksBusy` if too many checks are waiting.
   */
  readonly create: (
    org: OrgSlug,
    input: TemplateInput,
  ) => Effect.Effect<Template, OrganizationNotFound | AlreadyExists | InvalidInput | ChecksBusy | ChangeProposed>
  /**
   * Returns up to `limit` templates after the id `cursor`, sorted by id. Default of `which`: templates in use. Fails
   * with `OrganizationNotFound` for an unknown organization.
   */
  readonly list: (
    org: OrgSlug,
    page: { readonly cursor?: string | undefined; readonly limit: number; readonly which?: Which | undefined },
  ) => Effect.Effect<ReadonlyArray<Template>, OrganizationNotFound>
  /** Reads a template. Fails with `TemplateNotFound` for an unknown template. */
  readonly get: (org: OrgSlug, id: string) => Effect.Effect<Template, TemplateNotFound>
  /** Reads a template without the texts of its variants. Fails with `TemplateNotFound` for an unknown template. */
  readonly outline: (org: OrgSlug, id: string) => Effect.Effect<TemplateOutline, TemplateNotFound>
  /** Reads the existing templates among `ids` without the texts of their variants, sorted by id. */
  readonly outlines: (org: OrgSlug, ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<TemplateOutline>>
  /**
   * Changes the settings of a template. Fails with `TemplateNotFound` for an unknown template, and with `InvalidInput`
   * for a holdout whose fixed variant does not exist, and for a new owner who is not a member.
   */
  readonly update: (
    org: OrgSlug,
    id: string,
    patch: TemplatePatch,
  ) => Effect.Effect<Template, TemplateNotFound | InvalidInput | ChangeProposed>
  /**
   * Removes the template with its variants. Its past decisions stay. Fails with `TemplateNotFound` for an unknown
   * template.
   */
  readonly remove: (org: OrgSlug, id: string) => Effect.Effect<void, TemplateNotFound | ChangeProposed>
  /**
   * Adds a variant. Fails with `TemplateNotFound` for an unknown template, `AlreadyExists` if the id is taken,
   * `InvalidInput` with every fault of invalid content, and `ChecksBusy` if too many checks are waiting.
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
   * Updates a variant. `base` is the `updated_at` of the version that was edited: with it, fails with `VariantChanged`
   * if another person has saved the variant since. Fails with `TemplateNotFound` for an unknown template,
   * `VariantNotFound` for an unknown variant, `InvalidInput` with every fault of invalid content, and `ChecksBusy` if
   * too many checks are waiting.
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
   * Activates and deactivates several variants. Other variants stay unchanged. Returns the template. Fails with
   * `TemplateNotFound` for an unknown template, and with `InvalidInput` and every fault: a variant that the template
   * does not have, or one in both lists.
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

      const content = templateContent(sql, sources)
      const { change, faultsOf, held, insert, read, readOutline } = content

      const create = Effect.fn("Templates.create")(function* (org: OrgSlug, input: TemplateInput) {
        yield* Effect.catchTag(existingOrganization(sql, org), "SqlError", Effect.die)
        const variants = input.variants ?? []
        yield* refuse([
          ...templateFaults(withDefaults(input), variants),
          ...yield* Effect.orDie(ownerFaults(sql, org, input.owner, null)),
          ...yield* faultsOf(org, input),
        ])
        const now = yield* DateTime.nowAsDate
        return yield* write(
          org,
          input.id === undefined ? [] : [input.id],
          Effect.gen(function* () {
            yield* holdSnippets(sql, org, variants)
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

      const outline = Effect.fn("Templates.outline")(
        (org: OrgSlug, id: string) => readOutline(org, id),
        Effect.catchTag("SqlError", Effect.die),
      )

      const outlines = Effect.fn("Templates.outlines")(
        (org: OrgSlug, ids: ReadonlyArray<string>) => readTemplates(sql, org, ids, { texts: false }),
        Effect.orDie,
      )

      const update = Effect.fn("Templates.update")(function* (org: OrgSlug, id: string, patch: TemplatePatch) {
        const now = yield* DateTime.nowAsDate
        return yield* write(
          org,
          [id],
          Effect.gen(function* () {
            const before = yield* held(org, id)
            yield* refuse([
              ...templateFaults({ ...patchedContent(before, patch), holdout: patch.holdout }, before.variants),
              ...yield* ownerFaults(sql, org, patch.owner, before.owner),
            ])
            yield* change(org, before, patch, now)
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

      return Templates.of({
        create,
        list,
        get,
        outline,
        outlines,
        update,
        remove,
        ...variantWriter(sql, write, content),
      })
    }),
  )
}
