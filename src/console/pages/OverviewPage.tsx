import { Clock, Effect, Layer } from "effect"
import { Alerts } from "../../alerts/Alerts.ts"
import { Keys } from "../../auth/Keys.ts"
import { Connections } from "../../delivery/Connections.ts"
import { BulkActions } from "../../delivery/BulkActions.ts"
import { Deliveries } from "../../delivery/Deliveries.ts"
import { Arrivals } from "../../journal/inbox/Arrivals.ts"
import { WebhookQuota } from "../../intake/WebhookQuota.ts"
import { WebhookSources } from "../../intake/WebhookSources.ts"
import { t } from "../../languages/Language.ts"
import { Learning } from "../../learning/Learning.ts"
import { Models } from "../../learning/Models.ts"
import { KeptResults } from "../../results/KeptResults.ts"
import { Traffic } from "../../results/Traffic.ts"
import { Proposals } from "../../templates/Proposals.ts"
import { TemplateIndex } from "../../templates/TemplateIndex.ts"
import { TemplateCache } from "../../templates/TemplateCache.ts"
import { mailTroublesFor } from "./MailNotes.tsx"
import { Live, LiveScript } from "../components/Live.tsx"
import { pages } from "../Pages.ts"
import { view } from "../View.tsx"
import type { Visit } from "../Routes.tsx"
import { actionPath } from "./delivery/BulkPages.tsx"
import {
  conditionTroubles,
  connectionTroubles,
  eventTroubles,
  failureTroubles,
  learningTroubles,
  queueTroubles,
  quotaTroubles,
  reviewTroubles,
  shownAlone,
  stoppedTroubles,
  templateTroubles,
  type Trouble,
  unservedTemplates,
} from "./OverviewTroubles.ts"
import { Actions, AllClear, Attention, Start, type StartSteps, TemplatesInUse, Winners } from "./OverviewCards.tsx"

/** Templates in the table. */
const shownTemplates = 8

/** Recent decisions of a template according to its model. */
const recentSends = (models: Models["Service"], org: string, template: string): number =>
  models.latest(org, template)?.model.traffic.reduce((sum, { sends }) => sum + sends, 0) ?? 0

const show = Effect.fnUntraced(function* (visit: Visit) {
  const { can, org } = visit
  const deliveries = yield* Deliveries
  const models = yield* Models
  const proposals = yield* Proposals
  const base = `/console/o/${org.slug}`
  const now = yield* Clock.currentTimeMillis
  const kept = yield* KeptResults
  yield* kept.prepare(org.slug)
  const templates = [...(yield* TemplateCache).templates(org.slug).values()].filter(({ archived }) => !archived)
  const live = (yield* (yield* Keys).list(org.slug)).filter(({ expires_at, revoked_at }) =>
    revoked_at === null && (expires_at === null || Date.parse(expires_at) > now)
  )
  const arriving = yield* (yield* Arrivals).recent(org.slug)
  const ways = yield* (yield* Connections).list(org.slug)
  const setups = yield* (yield* WebhookSources).list(org.slug)
  const queue = yield* deliveries.summary(org.slug)
  const ends = yield* deliveries.recentEnds(org.slug)
  const actions = yield* (yield* BulkActions).list(org.slug, 20)
  const stopped = yield* (yield* Learning).stopped(org.slug)
  const conditions = yield* Effect.orDie((yield* Alerts).current(org.slug))
  const usage = yield* (yield* WebhookQuota).usage(org.slug)

  const busiest = templates.map((template) => ({ template, sends: recentSends(models, org.slug, template.id) }))
    .sort((a, b) => b.sends - a.sends || (a.template.id < b.template.id ? -1 : 1))
    .slice(0, shownTemplates)
    .map(({ template }) => template)
  const daily = yield* (yield* Traffic).daily(org.slug, busiest.map(({ id }) => id))
  const unserved = unservedTemplates(models, org.slug, templates, now)
  const names = yield* (yield* TemplateIndex).names(org.slug, [
    ...new Set([
      ...busiest.map(({ id }) => id as string),
      ...unserved.inactive.slice(0, shownAlone),
      ...unserved.idle.slice(0, shownAlone).map(({ template }) => template),
      ...stopped.map(({ templateId }) => templateId),
      ...conditions.flatMap((one) => one.type === "variant.failing" ? [one.templateId as string] : []),
    ]),
  ])
  const templateName = (id: string) => names.get(id) ?? id
  const today = (id: string) => daily.get(id)?.at(-1) ?? 0
  const shown = yield* Effect.forEach(
    busiest.toSorted((a, b) => today(b.id) - today(a.id)),
    (template) =>
      Effect.map(kept.last(org.slug, template), (results) => ({ name: templateName(template.id), template, results })),
  )

  const sending = shown.filter(({ template: { id } }) => daily.get(id)?.some((sends) => sends > 0))

  const troubles: ReadonlyArray<Trouble> = [
    ...yield* mailTroublesFor(visit),
    ...quotaTroubles(usage, `${base}/sources`),
    ...connectionTroubles(base, ways),
    ...eventTroubles(base, arriving),
    ...conditionTroubles(base, conditions, now, templateName),
    ...queueTroubles(base, queue.oldestDueSeconds),
    ...failureTroubles(ends, `${base}/deliveries`, org.delivery_failure_threshold, can("retryDeliveries")),
    ...reviewTroubles(
      base,
      yield* proposals.countOpen(org.slug),
      yield* proposals.list(org.slug, { state: "requested", limit: 1 }),
    ),
    ...stoppedTroubles(actions, now, (id) => actionPath(org.slug, id)),
    ...learningTroubles(base, stopped, templateName),
    ...templateTroubles(base, unserved, templateName),
  ].toSorted((a, b) => Number(b.kind === "bad") - Number(a.kind === "bad"))

  const hasSource = arriving.length > 0 || setups.some(({ enabled }) => enabled)
  const steps: StartSteps = {
    hasKey: live.length > 0,
    hasTemplate: templates.length > 0,
    hasVariants: templates.some(({ variants }) => variants.filter(({ active }) => active).length >= 2),
    hasSource,
    hasTraffic: [...daily.values()].some((days) => days.some((decisions) => decisions > 0)),
  }
  return view(
    {
      document: t`Overview`,
      title: org.name,
      live: true,
      lead: t`Winners, gains, traffic, and everything that needs you.`,
      actions: <Live />,
    },
    // The steps of an organization without templates have the same buttons.
    steps.hasTemplate && <Actions base={base} can={can} />,
    <Start base={base} can={can} steps={steps} />,
    <div data-live="attention">
      {troubles.length !== 0 ? <Attention troubles={troubles} /> : steps.hasTraffic && <AllClear />}
    </div>,
    <Winners base={base} now={now} shown={shown} zone={org.time_zone} />,
    steps.hasTemplate && (
      <TemplatesInUse
        base={base}
        daily={daily}
        shown={sending.length === 0 || templates.length <= shownTemplates ? shown : sending}
        total={templates.length}
        zone={org.time_zone}
      />
    ),
    <LiveScript />,
  )
})

/** The overview page of an organization: its setup, its activity, and everything that needs attention. */
export const layer = pages(({ page }) => [
  page("/console/o/:org", "getOrganization", show),
]).pipe(Layer.provide(Layer.mergeAll(Arrivals.layer, TemplateIndex.layer, Traffic.layer)))
