import { Effect } from "effect"
import { InboxEntryNotFound, TemplateNotFound } from "../../domain/Errors.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { DecisionHistory } from "../../journal/events/DecisionHistory.ts"
import { Inbox } from "../../journal/inbox/Inbox.ts"
import { Learning } from "../../learning/Learning.ts"
import { Rebuild } from "../../projections/Rebuild.ts"
import { TemplateCache } from "../../templates/TemplateCache.ts"
import { managed } from "../http/Managed.ts"
import { pageBy, pageOf } from "../http/Paging.ts"
import { inboxOf, lookedUp } from "../http/Requests.ts"

const date = (millis: number | undefined) => millis === undefined ? undefined : new Date(millis)

/** Serves `LearningGroup`. */
export const layer = managed(
  "learning",
  Effect.gen(function* () {
    const inbox = yield* Inbox
    const history = yield* DecisionHistory
    const rebuild = yield* Rebuild
    const templateCache = yield* TemplateCache
    const learning = yield* Learning

    /** Fails with `TemplateNotFound` for a template that is not served. */
    const served = Effect.fnUntraced(function* (org: OrgSlug, template: string) {
      yield* templateCache.lookUp(org, template)
      if (templateCache.template(org, template) === undefined) return yield* new TemplateNotFound({ id: template })
    })

    return {
      listInbox: {
        inSteps: Effect.fnUntraced(function* ({ org: organization, params, query }) {
          const org = yield* organization
          const source = yield* inboxOf(params.segment)
          const { all, cursor, limit } = yield* query
          const { next, page } = yield* pageOf(limit, (limit) => inbox.list(org, source, { cursor, limit, all }))
          return {
            inbox: page.map((entry) => ({ ...entry, unused: entry.unused ?? [], faults: entry.faults ?? [] })),
            next,
          }
        }),
      },
      replayInbox: Effect.fnUntraced(function* ({ org, params: { id, segment } }) {
        const source = yield* inboxOf(segment)
        if (!/^\d{1,15}$/.test(id)) return yield* new InboxEntryNotFound({ id: id.slice(0, 100) })
        yield* inbox.replay(org, source, Number(id))
      }),
      listDecisions: {
        inSteps: Effect.fnUntraced(function* ({ org: organization, params: { template }, query }) {
          const org = yield* organization
          yield* served(org, template)
          const { cursor, limit } = yield* query
          const { next, page } = yield* pageBy(
            limit,
            (limit) => history.list(org, template, { cursor, limit }),
            ({ trackingId }) => trackingId,
          )
          return {
            decisions: page.map(({ context, decidedAt, failed, mode, outcomes, ...decision }) => ({
              ...decision,
              segment: context,
              mode: mode as "bandit",
              ...(failed === null ? {} : { failed }),
              decidedAt: new Date(decidedAt),
              outcomes: {
                open: date(outcomes.open),
                click: date(outcomes.click),
                conversion: date(outcomes.conversion),
              },
            })),
            next,
          }
        }),
      },
      listStoppedLearning: ({ org }) => Effect.map(learning.stopped(org), (stopped) => ({ stopped })),
      resumeLearning: ({ org, params: { template } }) =>
        Effect.andThen(served(org, template), learning.resume(org, template)),
      rebuild: Effect.fnUntraced(function* ({ body: { check = false, template_id: id }, org }) {
        const rebuilt = yield* rebuild.run(org, { check, template: id === undefined ? undefined : lookedUp(id) })
        return {
          ...rebuilt,
          written: !check,
          differences: rebuilt.differences.map(({ context, start, ...difference }) => ({
            ...difference,
            segment: context,
            bucketStart: new Date(start),
          })),
        }
      }),
    }
  }),
  "after the body",
)
