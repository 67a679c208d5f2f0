import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type DecisionSettings, readDecisionSettings } from "../organizations/OrganizationRows.ts"
import type { Attributes } from "../domain/Attributes.ts"
import type { TemplateHoldout } from "../domain/Holdout.ts"
import type { CopyId, OrgSlug, TemplateId } from "../domain/Ids.ts"
import type { Sources } from "../checking/Checks.ts"
import {
  mjmlNames,
  mjmlSources,
  type RenderedFormats,
  renderedFormats,
  type Template,
  type Variant,
  type Vars,
} from "../domain/Template.ts"
import type { SnippetSources } from "../domain/Snippet.ts"
import type { Budget } from "../rendering/Budget.ts"
import { isSandbox, liveOf, sandboxOf } from "../domain/Sandbox.ts"
import { letOthersRun } from "../runtime/letOthersRun.ts"
import { Changes } from "../organizations/Changes.ts"
import * as UnknownIds from "../organizations/UnknownIds.ts"
import { recordset } from "../store/Recordset.ts"
import { readCompiled } from "./CompiledSources.ts"
import * as LocalTime from "./LocalTime.ts"
import * as Seasonality from "./Seasonality.ts"
import { readSnippets, readSnippetStamp, sourcesOf } from "./SnippetRows.ts"
import * as Targeting from "./Targeting.ts"
import { pagesOf, readTemplates } from "./TemplateRows.ts"

/** A variant prepared for decisions: its conditions compiled, its Liquid as written, its MJML as HTML. */
export interface VariantView {
  readonly id: CopyId
  readonly vars: Variant["vars"]
  readonly locales: Variant["locales"]
  readonly formats: RenderedFormats
  /** The variables as written. Undefined without MJML. */
  readonly written: Sources | undefined
  readonly active: boolean
  readonly components: Variant["components"]
  readonly audience: Targeting.Audience
  readonly calendar: Seasonality.Calendar
}

/** A template prepared for decisions. A change of it or of its variants creates a new object. */
export interface TemplateView {
  readonly org: OrganizationView
  readonly id: TemplateId
  readonly strict: boolean
  /** Null for a template in one locale. */
  readonly locale: Template["locale"]
  readonly stickyHours: number
  /** See `Policy.runnerUpFloor`. */
  readonly runnerUpFloor: number
  readonly objective: Template["objective"]
  /** Whether "send nothing" is a candidate. */
  readonly sendsNothing: boolean
  /** The template's own setting, or the organization's. */
  readonly holdout: TemplateHoldout
  /** Events measured in its messages. Null: as in its organization. */
  readonly tracking: Template["tracking"]
  /** Whether its e-mails carry the header List-Unsubscribe. */
  readonly listUnsubscribe: boolean
  /** Domains whose links get the tracking id. */
  readonly linkDomains: ReadonlyArray<string>
  /** Whether its messages also go to people who have unsubscribed. */
  readonly ignoresUnsubscribes: boolean
  /** Whether the template is archived: it is not served, but late events are still learned from. */
  readonly archived: boolean
  readonly revision: number
  /** All variants, sorted by id (UTF-16 code units). */
  readonly variants: ReadonlyArray<VariantView>
  readonly variantsById: ReadonlyMap<string, VariantView>
}

/** Settings shared by the templates of one organization. Every change creates a new object. */
export interface OrganizationView extends DecisionSettings {
  readonly slug: OrgSlug
  readonly localTime: LocalTime.LocalTime
  readonly snippets: SnippetSources
}

/** Whether a variant may be selected for these attributes now. Throws `LimitReached` past the budget. */
export const isEligible = (
  variant: VariantView,
  attributes: Attributes,
  nowMillis: number,
  budget: Budget,
): boolean => {
  budget.spend(variant.calendar.steps)
  return variant.active && variant.audience.holds(attributes, budget) && variant.calendar.holds(nowMillis)
}

/**
 * Returns the reason why a variant may not be selected, such as `not active`. Undefined if it may. Throws
 * `LimitReached` past the budget.
 */
export const whyNotEligible = (
  variant: VariantView,
  attributes: Attributes,
  nowMillis: number,
  budget: Budget,
): string | undefined => {
  budget.spend(2 * variant.calendar.steps)
  return variant.active
    ? variant.audience.whyNot(attributes, budget) ?? variant.calendar.whyNot(nowMillis)
    : "not active"
}

type Compiled = ReadonlyMap<string, string>

/** Returns the variables of a variant with HTML in the place of MJML. A variant whose HTML is missing is inactive. */
const contentOf = (
  { active, formats, locales, vars }: Variant,
  compiled: Compiled,
): Pick<VariantView, "active" | "formats" | "locales" | "vars" | "written"> => {
  const names = mjmlNames({ formats, vars })
  if (names.length === 0) return { active, vars, locales, formats: renderedFormats(formats), written: undefined }
  const written = { formats, vars, locales }
  const asHtml = (texts: Vars): Vars => ({
    ...texts,
    ...Object.fromEntries(mjmlNames({ formats, vars: texts }).map((name) => [name, compiled.get(texts[name]!) ?? ""])),
  })
  return {
    active: active && mjmlSources(written).every((source) => compiled.has(source)),
    vars: asHtml(vars),
    locales: Object.fromEntries(Object.entries(locales).map(([tag, texts]) => [tag, asHtml(texts)])),
    formats: renderedFormats(formats),
    written,
  }
}

const viewOf = (org: OrganizationView, template: Template, compiled: Compiled): TemplateView => {
  const variants = template.variants
    .map((variant): VariantView => ({
      id: variant.id,
      ...contentOf(variant, compiled),
      components: variant.components,
      audience: Targeting.compile(variant.targeting),
      calendar: Seasonality.compile(variant.seasons, org.timeZone),
    }))
    .sort((a, b) => a.id < b.id ? -1 : 1)
  return {
    org,
    id: template.id,
    strict: template.strict,
    locale: template.locale,
    stickyHours: template.sticky_hours,
    runnerUpFloor: template.runner_up_floor,
    objective: template.objective,
    sendsNothing: template.send_nothing,
    holdout: template.holdout ?? org.holdout,
    tracking: template.tracking,
    listUnsubscribe: template.list_unsubscribe,
    linkDomains: template.link_domains,
    ignoresUnsubscribes: template.ignore_unsubscribes,
    archived: template.archived_at !== null,
    revision: template.revision,
    variants,
    variantsById: new Map(variants.map((variant) => [variant.id, variant])),
  }
}

/** Views for sandboxes, one per view of an organization, because other caches use views as keys. */
const sandboxed = new WeakMap<TemplateView, TemplateView>()

/** Returns a template for decisions of a sandbox: the organization's template with the sandbox's slug. */
const inSandbox = (live: TemplateView): TemplateView => {
  const known = sandboxed.get(live)
  if (known !== undefined) return known
  const view: TemplateView = { ...live, org: { ...live.org, slug: sandboxOf(live.org.slug) } }
  sandboxed.set(live, view)
  return view
}

/** Number of variants above which a template lets other fibers run after its compilation. */
const variantsPerTurn = 50

/**
 * The templates of all organizations, in memory and prepared for decisions. Changes from any node arrive within 5
 * seconds (see `Changes`). Only changed templates are read.
 */
export class TemplateCache extends Context.Service<TemplateCache, {
  /**
   * Returns the cached template, or undefined for an unknown id. A sandbox uses the templates of its organization with
   * its own slug, so that decisions are stored under the sandbox.
   */
  readonly template: (org: string, id: string) => TemplateView | undefined
  /** Reads a template that is not in the cache, because another node may have just created it. */
  readonly lookUp: (org: string, id: string) => Effect.Effect<void>
  /**
   * Returns all templates of an organization by id. Every change creates a new map. A sandbox has the templates of its
   * organization.
   */
  readonly templates: (org: string) => ReadonlyMap<string, TemplateView>
}>()("parlance/templates/TemplateCache") {
  static readonly layer = Layer.effect(
    TemplateCache,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const changes = yield* Changes
      const organizations = new Map<
        string,
        {
          readonly org: OrganizationView
          /** The organization's row as text, to detect a change. */
          readonly settings: string
          /** Differs after each change of the snippets. */
          readonly stamp: string
          readonly templates: ReadonlyMap<string, TemplateView>
        }
      >()

      const organizationOf = Effect.fnUntraced(function* (slug: OrgSlug) {
        const row = yield* readDecisionSettings(sql, slug)
        const settings = JSON.stringify(row)
        const stamp = yield* readSnippetStamp(sql, slug)
        const before = organizations.get(slug)
        const isSame = before?.settings === settings
        if (isSame && before.stamp === stamp) return before
        const snippets = before?.stamp === stamp ? before.org.snippets : sourcesOf(yield* readSnippets(sql, slug))
        const org: OrganizationView = { slug, ...row!, localTime: LocalTime.of(row!.timeZone), snippets }
        // Templates refer to their organization. Seasons are compiled for a time zone, so after a change of the settings
        // all templates are read again.
        const templates = isSame ? before.templates : new Map<string, TemplateView>()
        return { org, settings, stamp, templates: new Map([...templates].map(([id, view]) => [id, { ...view, org }])) }
      })

      yield* changes.subscribe(Effect.fnUntraced(function* (slug) {
        const { org, settings, stamp, templates } = yield* organizationOf(slug)
        const existing = yield* sql<{ id: string; revision: number }>`
          SELECT t.id, t.revision::float8 AS revision FROM templates t WHERE t.org_slug = ${slug}`
        const changed = existing.filter(({ id, revision }) => templates.get(id)?.revision !== revision)
          .map(({ id }) => id)
        const next = new Map(templates)
        const ids = new Set(existing.map(({ id }) => id))
        for (const id of templates.keys()) if (!ids.has(id)) next.delete(id)
        for (const page of yield* pagesOf(sql, slug, changed)) {
          const read = yield* readTemplates(sql, slug, page)
          const compiled = yield* readCompiled(sql, slug, read)
          for (const template of read) {
            next.set(template.id, viewOf(org, template, compiled))
            // Compiling a template with many variants takes milliseconds, during which the event loop is blocked.
            if (template.variants.length > variantsPerTurn) yield* letOthersRun
          }
        }
        organizations.set(slug, { org, settings, stamp, templates: next })
      }))

      const lookUp = yield* UnknownIds.make((keys) => {
        const rows = keys.map((key) => {
          const at = key.indexOf("/")
          return { org_slug: key.slice(0, at), id: key.slice(at + 1) }
        })
        return Effect.map(
          sql<{ orgSlug: string; id: string }>`
            SELECT t.org_slug, t.id FROM templates t
            JOIN ${recordset(rows, { org_slug: "text", id: "text" })}
              ON t.org_slug = r.org_slug AND t.id = r.id`,
          (found) => {
            const there = new Set(found.map(({ id, orgSlug }) => `${orgSlug}/${id}`))
            return keys.map((key) => there.has(key))
          },
        )
      })

      const none: ReadonlyMap<string, TemplateView> = new Map()
      const template = (org: string, id: string) => organizations.get(org)?.templates.get(id)
      return TemplateCache.of({
        template: (org, id) => {
          if (!isSandbox(org)) return template(org, id)
          const live = template(liveOf(org), id)
          return live && inSandbox(live)
        },
        lookUp: (org, id) => template(liveOf(org), id) === undefined ? lookUp(`${liveOf(org)}/${id}`) : Effect.void,
        templates: (org) => organizations.get(liveOf(org))?.templates ?? none,
      })
    }),
  )
}
