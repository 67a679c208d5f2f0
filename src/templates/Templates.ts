import { isDeepStrictEqual } from "node:util"
import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import {
  AlreadyExists,
  type Fault,
  InvalidInput,
  type OrganizationNotFound,
  TemplateNotFound,
  VariantNotFound,
} from "../domain/Errors.ts"
import { type OrgSlug, randomId, TemplateId } from "../domain/Ids.ts"
import type { Template, TemplateInput, TemplatePatch, Variant, VariantInput, VariantPatch } from "../domain/Template.ts"
import { SourceCheck } from "../rendering/SourceCheck.ts"
import { Changes } from "../store/Changes.ts"
import { tell, tellApart } from "../store/ChangeTrail.ts"
import { existingOrganization } from "../store/Existing.ts"
import { fieldsOfTemplate, fieldsOfVariant } from "./TemplateFields.ts"
import { insertVariant, isOf, readTemplates, updateVariant, type Which } from "./TemplateRows.ts"

/** What an import did, by template id. A template that already stood as the file says is `unchanged`. */
export interface Imported {
  readonly created: ReadonlyArray<string>
  readonly updated: ReadonlyArray<string>
  readonly unchanged: ReadonlyArray<string>
}

/**
 * Templates and their variants as their authors write them. A variant whose Liquid does not parse cannot be saved: that
 * is an `InvalidInput` with each fault at its place. A broken store is a defect everywhere here.
 */
export class Templates extends Context.Service<Templates, {
  readonly create: (
    org: OrgSlug,
    input: TemplateInput,
  ) => Effect.Effect<Template, OrganizationNotFound | AlreadyExists | InvalidInput>
  /** Up to `limit` templates by id, those after the id `after`; those in use unless said. */
  readonly list: (
    org: OrgSlug,
    page: { readonly after?: string | undefined; readonly limit: number; readonly which?: Which | undefined },
  ) => Effect.Effect<ReadonlyArray<Template>, OrganizationNotFound>
  readonly get: (org: OrgSlug, id: string) => Effect.Effect<Template, TemplateNotFound>
  readonly update: (org: OrgSlug, id: string, patch: TemplatePatch) => Effect.Effect<Template, TemplateNotFound>
  /** Removes the template with its variants. Decisions already made of it stay. */
  readonly remove: (org: OrgSlug, id: string) => Effect.Effect<void, TemplateNotFound>
  readonly createVariant: (
    org: OrgSlug,
    template: string,
    input: VariantInput,
  ) => Effect.Effect<Variant, TemplateNotFound | AlreadyExists | InvalidInput>
  readonly getVariant: (
    org: OrgSlug,
    template: string,
    id: string,
  ) => Effect.Effect<Variant, TemplateNotFound | VariantNotFound>
  readonly updateVariant: (
    org: OrgSlug,
    template: string,
    id: string,
    patch: VariantPatch,
  ) => Effect.Effect<Variant, TemplateNotFound | VariantNotFound | InvalidInput>
  readonly removeVariant: (
    org: OrgSlug,
    template: string,
    id: string,
  ) => Effect.Effect<void, TemplateNotFound | VariantNotFound>
  /**
   * Brings templates to the state the inputs describe, all or none: missing ones are created, existing ones changed,
   * and variants that an input does not name are left as they are.
   */
  readonly importAll: (
    org: OrgSlug,
    inputs: ReadonlyArray<TemplateInput>,
  ) => Effect.Effect<Imported, OrganizationNotFound | InvalidInput>
}>()("parlance/templates/Templates") {
  static readonly layer = Layer.effect(
    Templates,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const changes = yield* Changes
      const sources = yield* SourceCheck

      /** One change of an organization's content: a transaction that raises its revision, then this node's views. */
      const write = <A, E>(org: OrgSlug, effect: Effect.Effect<A, E | SqlError>) =>
        sql.withTransaction(Effect.tap(effect, changes.bump(org))).pipe(
          Effect.tap(changes.refresh),
          Effect.catchTag("SqlError", Effect.die),
        ) as Effect.Effect<A, Exclude<E, SqlError>>

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
          before === undefined ? undefined : fieldsOfTemplate(before),
          after === undefined ? undefined : fieldsOfTemplate(after),
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

      /** Every fault of the variants' Liquid and of their names for each other, with pointers below `at`. */
      const faultsOf = Effect.fnUntraced(function* (variants: ReadonlyArray<VariantInput>, at: string) {
        const faults: Array<Fault> = []
        const ids = new Set<string>()
        for (const [index, variant] of variants.entries()) {
          if (variant.id !== undefined && ids.has(variant.id)) {
            faults.push({ pointer: `${at}/${index}/id`, detail: "is the id of another variant of this template" })
          }
          if (variant.id !== undefined) ids.add(variant.id)
          faults.push(...(yield* liquidFaults(variant, `${at}/${index}`)))
        }
        return faults
      })

      const liquidFaults = (variant: Pick<VariantPatch, "vars" | "formats">, at: string) =>
        Effect.gen(function* () {
          const faults: Array<Fault> = Object.keys(variant.formats ?? {})
            .filter((name) => variant.vars !== undefined && !Object.hasOwn(variant.vars, name))
            .map((name) => ({ pointer: `${at}/formats/${escape(name)}`, detail: "names no variable of this variant" }))
          const liquid = yield* sources.check(variant.vars ?? {}, variant.formats ?? {}).pipe(
            Effect.as([]),
            Effect.catchTag("LiquidFaults", (error) => Effect.succeed(error.faults)),
          )
          return [
            ...faults,
            ...liquid.map(({ column, line, message, variable }) => ({
              pointer: `${at}/vars/${escape(variable)}`,
              detail: `line ${line}, column ${column}: ${message}`,
            })),
          ]
        })

      const refuse = (faults: ReadonlyArray<Fault>) =>
        faults.length === 0 ? Effect.void : Effect.fail(new InvalidInput({ faults }))

      const insert = Effect.fnUntraced(function* (org: OrgSlug, input: TemplateInput, now: Date) {
        const id = input.id ?? TemplateId.make(randomId("t"))
        const rows = yield* sql`
          INSERT INTO templates AS t
            (org_slug, id, name, strict, sticky_hours, objective, link_domains, archived_at, created_at, updated_at)
          VALUES (${org}, ${id}, ${input.name}, ${input.strict ?? false}, ${input.sticky_hours ?? 0},
            ${JSON.stringify(input.objective ?? "click")}::text::jsonb, ${[...input.link_domains ?? []]}::text[],
            ${input.archived === true ? now : null}, ${now}, ${now})
          ON CONFLICT DO NOTHING RETURNING t.id`
        if (rows.length === 0) return yield* new AlreadyExists({ what: "template", id })
        for (const variant of input.variants ?? []) yield* insertVariant(sql, org, id, variant, now)
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
            link_domains = coalesce(${patch.link_domains ? [...patch.link_domains] : null}::text[], t.link_domains),
            archived_at = CASE ${patch.archived ?? null}::boolean
              WHEN true THEN coalesce(t.archived_at, ${now}) WHEN false THEN NULL ELSE t.archived_at END,
            revision = nextval('template_revisions'),
            updated_at = ${now}
          WHERE t.org_slug = ${org} AND t.id = ${id} RETURNING t.id`
        if (rows.length === 0) return yield* new TemplateNotFound({ id })
      })

      const create = Effect.fn("Templates.create")(function* (org: OrgSlug, input: TemplateInput) {
        yield* refuse(yield* faultsOf(input.variants ?? [], "/variants"))
        const now = yield* DateTime.nowAsDate
        return yield* write(
          org,
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
          page: { readonly after?: string | undefined; readonly limit: number; readonly which?: Which | undefined },
        ) {
          yield* existingOrganization(sql, org)
          const ids = yield* sql<{ id: string }>`
            SELECT t.id FROM templates t WHERE t.org_slug = ${org} AND t.id > ${page.after ?? ""}
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
          Effect.gen(function* () {
            const before = yield* held(org, id)
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
          Effect.gen(function* () {
            const before = yield* held(org, id)
            yield* sql`DELETE FROM templates t WHERE t.org_slug = ${org} AND t.id = ${id}`
            yield* tellTemplate(before, undefined)
          }),
        )
      )

      const createVariant = Effect.fn("Templates.createVariant")(
        function* (org: OrgSlug, template: string, input: VariantInput) {
          yield* refuse(yield* liquidFaults(input, ""))
          const now = yield* DateTime.nowAsDate
          return yield* write(
            org,
            Effect.gen(function* () {
              yield* change(org, template, {}, now)
              const id = yield* insertVariant(sql, org, template, input, now)
              if (id === undefined) return yield* new AlreadyExists({ what: "variant", id: input.id ?? "" })
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

      const patchVariant = Effect.fn("Templates.updateVariant")(
        function* (org: OrgSlug, template: string, id: string, patch: VariantPatch) {
          const standing = yield* getVariant(org, template, id)
          // Sources and formats are judged as they will stand together.
          yield* refuse(
            yield* liquidFaults({ vars: patch.vars ?? standing.vars, formats: patch.formats ?? standing.formats }, ""),
          )
          const now = yield* DateTime.nowAsDate
          return yield* write(
            org,
            Effect.gen(function* () {
              yield* change(org, template, {}, now)
              const before = yield* readVariant(org, template, id)
              yield* updateVariant(sql, org, template, id, patch, now)
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
            Effect.gen(function* () {
              yield* change(org, template, {}, now)
              const before = yield* readVariant(org, template, id)
              yield* sql`
                DELETE FROM variants v WHERE v.org_slug = ${org} AND v.template_id = ${template} AND v.id = ${id}`
              yield* tellVariant(template, before, undefined)
            }),
          )
        },
      )

      const importAll = Effect.fn("Templates.importAll")(
        function* (org: OrgSlug, inputs: ReadonlyArray<TemplateInput>) {
          const faults: Array<Fault> = []
          const ids = new Set<string>()
          for (const [index, input] of inputs.entries()) {
            if (input.id !== undefined && ids.has(input.id)) {
              faults.push({ pointer: `/templates/${index}/id`, detail: "is the id of another template of this import" })
            }
            if (input.id !== undefined) ids.add(input.id)
            faults.push(...(yield* faultsOf(input.variants ?? [], `/templates/${index}/variants`)))
          }
          yield* refuse(faults)
          yield* tellApart({ by: "import" })
          const now = yield* DateTime.nowAsDate
          const importOne = Effect.fnUntraced(function* (input: TemplateInput) {
            const before = input.id === undefined ? undefined : (yield* readTemplates(sql, org, [input.id]))[0]
            if (before === undefined) {
              const id = yield* insert(org, input, now)
              yield* tellTemplate(undefined, yield* read(org, id))
              return { outcome: "created" as const, id }
            }
            if (stands(before, input)) return { outcome: "unchanged" as const, id: before.id }
            // What a file does not say is what it says by default, as with its variants.
            const { archived = false, link_domains = [], name, objective = "click", sticky_hours = 0 } = input
            const { strict = false } = input
            yield* change(org, before.id, { name, archived, objective, sticky_hours, strict, link_domains }, now)
            for (const variant of input.variants ?? []) {
              const known = variant.id !== undefined && before.variants.some(({ id }) => id === variant.id)
              if (known) yield* updateVariant(sql, org, before.id, variant.id, whole(variant), now)
              else yield* insertVariant(sql, org, before.id, variant, now)
            }
            yield* tellTemplate(before, yield* read(org, before.id))
            return { outcome: "updated" as const, id: before.id }
          })
          const done = yield* write(
            org,
            Effect.andThen(existingOrganization(sql, org), Effect.forEach(inputs, importOne)),
          ).pipe(
            // Read and written in one transaction that alone may write the organization's content.
            Effect.catchTags({ AlreadyExists: Effect.die, TemplateNotFound: Effect.die }),
          )
          const by = (outcome: string) => done.filter((one) => one.outcome === outcome).map(({ id }) => id)
          return { created: by("created"), updated: by("updated"), unchanged: by("unchanged") }
        },
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
        importAll,
      })
    }),
  )
}

const escape = (segment: string): string => segment.replaceAll("~", "~0").replaceAll("/", "~1")

/** A variant as a file gives it, with the defaults that its silence means. */
const whole = (variant: VariantInput): VariantPatch => ({
  name: variant.name ?? variant.id!,
  vars: variant.vars,
  formats: variant.formats ?? {},
  active: variant.active ?? true,
  targeting: variant.targeting ?? [],
  seasons: variant.seasons ?? [],
})

/** Whether importing `input` over `before` would change nothing. */
const stands = (before: Template, input: TemplateInput): boolean => {
  const settings = (template: Template | TemplateInput) => [
    template.name,
    "archived_at" in template ? template.archived_at !== null : template.archived ?? false,
    template.strict ?? false,
    template.sticky_hours ?? 0,
    template.objective ?? "click",
    template.link_domains ?? [],
  ]
  return isDeepStrictEqual(settings(before), settings(input)) && (input.variants ?? []).every((variant) => {
    const known = before.variants.find(({ id }) => id === variant.id)
    return known !== undefined && isDeepStrictEqual(whole(known), whole(variant))
  })
}
