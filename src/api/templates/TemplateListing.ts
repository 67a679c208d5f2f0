import { Clock, Context, Effect, Layer } from "effect"
import { Memberships } from "../../accounts/Memberships.ts"
import { Alerts } from "../../alerts/Alerts.ts"
import { daysOfData } from "../../bandit/Winner.ts"
import { noticed, RequestNotices } from "../../decide/RequestNotices.ts"
import { Deliveries } from "../../delivery/Deliveries.ts"
import type { OrganizationNotFound } from "../../domain/Errors.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { type ListPage, type ListQuery, type ListShape, pageOf } from "../../domain/List.ts"
import { candidateName, nothing } from "../../domain/SendNothing.ts"
import { Models } from "../../learning/Models.ts"
import { verdictNow } from "../../results/Composition.ts"
import { Traffic, trafficDays } from "../../results/Traffic.ts"
import { TemplateCache } from "../../templates/TemplateCache.ts"
import { TemplateIndex, variantKey } from "../../templates/TemplateIndex.ts"
import type { Which } from "../../templates/TemplateRows.ts"
import { type ListedTemplate, templateShape } from "./TemplateListShape.ts"

/** A page of the template list, with the shape and the query that selected it. */
export interface TemplatesPage extends ListPage<ListedTemplate> {
  readonly shape: ListShape<ListedTemplate>
  readonly listQuery: ListQuery
  /** Number of templates in use, before any search or filter. */
  readonly inUse: number
  /** Number of archived templates, before any search or filter. */
  readonly archived: number
}

/**
 * Lists templates with their state, traffic, problems, winners and owners. Winners come from the verdicts of the
 * published models in memory, so that a list computes no verdict.
 */
export class TemplateListing extends Context.Service<TemplateListing, {
  /**
   * Returns up to `size` templates. `ask` returns the query for the shape of the list, whose filters offer the tags and
   * owners in use. Fails with `OrganizationNotFound` for an unknown organization.
   */
  readonly page: (
    org: OrgSlug,
    which: Which,
    size: number,
    ask: (shape: ListShape<ListedTemplate>) => ListQuery,
  ) => Effect.Effect<TemplatesPage, OrganizationNotFound>
}>()("parlance/api/templates/TemplateListing") {
  static readonly layer = Layer.effect(
    TemplateListing,
    Effect.gen(function* () {
      const alerts = yield* Alerts
      const cache = yield* TemplateCache
      const deliveries = yield* Deliveries
      const index = yield* TemplateIndex
      const members = yield* Memberships
      const models = yield* Models
      const notices = yield* RequestNotices
      const traffic = yield* Traffic

      /** Reads every template, without its traffic. */
      const rows = Effect.fnUntraced(function* (org: OrgSlug) {
        const all = yield* index.all(org)
        const failures = yield* deliveries.recentFailures(org)
        const recent = Map.groupBy(yield* Effect.orDie(notices.recent(org)), ({ templateId }) => templateId)
        const names = new Map((yield* members.list(org)).map(({ email, name }) => [email, name]))
        const now = yield* Clock.currentTimeMillis
        const failing = Map.groupBy(
          (yield* Effect.orDie(alerts.current(org))).flatMap((one) => one.type === "variant.failing" ? [one] : []),
          ({ templateId }) => templateId,
        )
        const listed = all.map((template): ListedTemplate => {
          // The template cache is at most a few seconds behind other nodes.
          const view = cache.template(org, template.id)
          const running = view?.variants
            .filter((variant) => variant.active && variant.calendar.holds(now)).map(({ id }) => id as string)
          const model = models.latest(org, template.id)?.model
          const { since, winner } = verdictNow(model?.verdict, [
            ...(view?.sendsNothing === true && running!.length > 0 ? [nothing] : []),
            ...running ?? [],
          ])
          const ofTemplate = recent.get(template.id) ?? []
          return {
            ...template,
            inSeason: running?.length ?? template.active,
            failed: failures.get(template.id) ?? 0,
            repeatedIds: noticed(ofTemplate, "repeated", template.id)?.requests ?? 0,
            unfilled: noticed(ofTemplate, "unfilled", template.id)?.requests ?? 0,
            failing: (failing.get(template.id) ?? []).map(({ copyId }) => copyId),
            winner: winner === null || since === null ? null : { copyId: winner, name: candidateName(winner), since },
            testedDays: model === undefined ? 0 : daysOfData(model),
            ownerName: template.owner === null ? null : names.get(template.owner) ?? null,
            days: [],
          }
        })
        return listed
      })

      const withDays = Effect.fnUntraced(function* (org: OrgSlug, some: ReadonlyArray<ListedTemplate>) {
        const days = yield* traffic.daily(org, some.map(({ id }) => id))
        return some.map((row) => ({ ...row, days: days.get(row.id) ?? [] }))
      })

      const withNames = Effect.fnUntraced(function* (org: OrgSlug, some: ReadonlyArray<ListedTemplate>) {
        const won = some.flatMap(({ id, winner }) => winner === null ? [] : [{ template: id, variant: winner.copyId }])
        if (won.length === 0) return some
        const names = yield* index.variantNames(org, won)
        return some.map((row) =>
          row.winner === null ? row : {
            ...row,
            winner: { ...row.winner, name: names.get(variantKey(row.id, row.winner.copyId)) ?? row.winner.name },
          }
        )
      })

      const page = Effect.fn("TemplateListing.page")(function* (
        org: OrgSlug,
        which: Which,
        size: number,
        ask: (shape: ListShape<ListedTemplate>) => ListQuery,
      ) {
        const all = yield* rows(org)
        const ofWhich = which === "all"
          ? all
          : all.filter(({ archivedAt }) => (archivedAt !== null) === (which === "archived"))
        const shape = templateShape(trafficDays, ofWhich)
        const listQuery = ask(shape)
        // Traffic is read for every template only if the list is sorted by it.
        const isByTraffic = listQuery.sort === "decisions"
        const cut = pageOf(shape, isByTraffic ? yield* withDays(org, ofWhich) : ofWhich, listQuery, size)
        const shown = yield* withNames(org, isByTraffic ? cut.rows : yield* withDays(org, cut.rows))
        const archived = all.filter(({ archivedAt }) => archivedAt !== null).length
        return { ...cut, rows: shown, shape, listQuery, inUse: all.length - archived, archived }
      })

      return TemplateListing.of({ page })
    }),
  )
}
