import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { InboxEntryNotFound, TemplateNotFound } from "../../domain/Errors.ts"
import { decoder } from "../../domain/Faults.ts"
import { DecisionHistory } from "../../journal/events/DecisionHistory.ts"
import { Inbox } from "../../journal/inbox/Inbox.ts"
import { Rebuild } from "../../projections/Rebuild.ts"
import { Learning } from "../../learning/Learning.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { TemplateCache } from "../../templates/TemplateCache.ts"
import { ServedApi } from "../Api.ts"
import { rebuildBody } from "./LearningApi.ts"
import * as Parameters from "../server/Parameters.ts"
import { body, existing, inboxOf, lookedUp, toProblems } from "../server/Requests.ts"

const decodeRebuild = decoder(rebuildBody)

const iso = (millis: number) => new Date(millis).toISOString()

export const layer = HttpApiBuilder.group(
  ServedApi,
  "learning",
  Effect.fnUntraced(function* (handlers) {
    const organizations = yield* Organizations
    const inbox = yield* Inbox
    const history = yield* DecisionHistory
    const rebuild = yield* Rebuild
    const templateCache = yield* TemplateCache
    const learning = yield* Learning

    return handlers
      .handleRaw("listInbox", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const source = yield* inboxOf(params.segment)
          const { all, before: cursor, limit } = yield* Parameters.parameters(request, {
            limit: Parameters.limit(100, 20),
            before: Parameters.numericCursor("must be the id of a body", 1),
            all: Parameters.flag,
          })
          const found = yield* inbox.list(org, source, { cursor, limit: limit + 1, all })
          const page = found.slice(0, limit)
          return {
            inbox: page.map((entry) => ({
              id: entry.id,
              received_at: entry.receivedAt.toISOString(),
              status: entry.status,
              attempts: entry.attempts,
              headers: entry.headers,
              body: entry.body,
              bytes: entry.bytes,
              events: entry.events,
              duplicates: entry.duplicates,
              ignored: entry.ignored,
              unused: entry.unused ?? [],
              faults: entry.faults ?? [],
            })),
            next: found.length > page.length ? page.at(-1)!.id : null,
          }
        }).pipe(toProblems))
      .handle("replayInbox", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const source = yield* inboxOf(params.segment)
          if (!/^\d{1,15}$/.test(params.id)) return yield* new InboxEntryNotFound({ id: params.id.slice(0, 100) })
          yield* inbox.replay(org, source, Number(params.id))
        }).pipe(toProblems))
      .handleRaw("listDecisions", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const template = lookedUp(params.template)
          yield* templateCache.lookUp(org, template)
          if (templateCache.template(org, template) === undefined) return yield* new TemplateNotFound({ id: template })
          const { after: cursor, limit } = yield* Parameters.parameters(request, {
            limit: Parameters.limit(5000, 1000),
            after: Parameters.cursor("must be a tracking id"),
          })
          const found = yield* history.list(org, template, { cursor, limit: limit + 1 })
          const page = found.slice(0, limit)
          return {
            decisions: page.map(({ outcomes: { click, conversion, open }, ...decision }) => ({
              tracking_id: decision.trackingId,
              copy_id: decision.copyId,
              segment: decision.context,
              mode: decision.mode as "bandit",
              propensity: decision.propensity,
              weights: decision.weights,
              ...(decision.failed === null ? {} : { failed: decision.failed }),
              policy: decision.policy,
              decided_at: iso(decision.decidedAt),
              outcomes: {
                ...(open === undefined ? {} : { open: iso(open) }),
                ...(click === undefined ? {} : { click: iso(click) }),
                ...(conversion === undefined ? {} : { conversion: iso(conversion) }),
              },
            })),
            next: found.length > page.length ? page.at(-1)!.trackingId : null,
          }
        }).pipe(toProblems))
      .handle("listStoppedLearning", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          return {
            stopped: (yield* learning.stopped(org)).map(({ reason, stoppedAt, templateId }) => ({
              template_id: templateId,
              stopped_at: stoppedAt.toISOString(),
              reason,
            })),
          }
        }).pipe(toProblems))
      .handle("resumeLearning", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const template = lookedUp(params.template)
          yield* templateCache.lookUp(org, template)
          if (templateCache.template(org, template) === undefined) return yield* new TemplateNotFound({ id: template })
          yield* learning.resume(org, template)
        }).pipe(toProblems))
      .handleRaw("rebuild", ({ params, request }) =>
        Effect.gen(function* () {
          const { check = false, template_id } = yield* body(request, decodeRebuild)
          const org = yield* existing(organizations, params)
          const rebuilt = yield* rebuild.run(org, {
            check,
            template: template_id === undefined ? undefined : lookedUp(template_id),
          })
          return {
            decisions: rebuilt.decisions,
            templates: rebuilt.templates,
            written: !check,
            faults: rebuilt.faults.map(({ reason, templateId }) => ({ template_id: templateId, reason })),
            send_times: rebuilt.sendTimes,
            even_split_differences: rebuilt.evenSplitDifferences,
            differences: rebuilt.differences.map((difference) => ({
              template_id: difference.templateId,
              copy_id: difference.copyId,
              segment: difference.context,
              bucket_start: iso(difference.start),
              track: difference.track,
              measure: difference.measure,
              counted: difference.counted,
              true: difference.true,
            })),
          }
        }).pipe(toProblems))
  }),
)
