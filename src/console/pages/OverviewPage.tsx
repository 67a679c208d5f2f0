// deno-lint-ignore-file jsx-key -- rendered once, on the server
/** @jsxImportSource preact */
import { Clock, Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import type { ComponentChildren } from "preact"
import { Keys } from "../../auth/Keys.ts"
import { Connections } from "../../delivery/Connections.ts"
import { type BulkAction, BulkActions } from "../../delivery/BulkActions.ts"
import { Deliveries, type RecentEnds } from "../../delivery/Deliveries.ts"
import { formatBytes } from "../../domain/Bytes.ts"
import { platforms } from "../../domain/Source.ts"
import type { Usage } from "../../domain/Usage.ts"
import { type Arrival, Arrivals } from "../../journal/inbox/Arrivals.ts"
import { WebhookQuota } from "../../intake/WebhookQuota.ts"
import { WebhookSources } from "../../intake/WebhookSources.ts"
import { Learning } from "../../learning/Learning.ts"
import { Models } from "../../learning/Models.ts"
import { Traffic, trafficDays } from "../../results/Traffic.ts"
import { TemplateIndex } from "../../templates/TemplateIndex.ts"
import { type TemplateView, Views } from "../../templates/Views.ts"
import { count } from "../charts/Numbers.ts"
import { Badge } from "../components/Badge.tsx"
import { Card } from "../components/Card.tsx"
import { Empty } from "../components/Empty.tsx"
import { Live, LiveScript } from "../components/Live.tsx"
import { PageHead } from "../components/PageHead.tsx"
import { Table } from "../components/Table.tsx"
import { Time } from "../components/Time.tsx"
import { Console, type View, type Visit } from "../Routes.tsx"
import { actionPath, isStopped } from "./delivery/BulkPages.tsx"
import { Sparkline } from "./templates/Sparkline.tsx"

/** Templates in the table. */
const shownTemplates = 8

/** Things to look after that are listed. */
const shownTroubles = 12

/** Bodies that wait for longer are worth a look. Unit: seconds. */
const longLag = 60

/** Messages that are due for longer are worth a look. Unit: seconds. */
const longQueue = 300

/** Decisions of a template, in 14 days, from which on each of its variants should have had some. */
const enoughDecisions = 200

const troubleTitle = {
  "slow-down": "is asked to slow down",
  failing: "does not take messages",
  broken: "does not take messages",
  refusing: "refuses messages and is paused",
} as const

interface Trouble {
  readonly kind: "bad" | "warn"
  readonly what: string
  readonly href: string
  readonly title: string
  readonly detail: string
}

const ages = (seconds: number): string =>
  seconds < 90
    ? `${Math.round(seconds)} s`
    : seconds < 5400
    ? `${Math.round(seconds / 60)} min`
    : `${Math.round(seconds / 3600)} h`

const nameOf = (source: Arrival["source"]) => source === "events" ? "Custom events" : `${source} (${platforms[source]})`

/** What has been sent lately by a template, as its model has it. */
const recentSends = (models: Models["Service"], org: string, template: string): number =>
  models.latest(org, template)?.model.traffic.reduce((sum, { sends }) => sum + sends, 0) ?? 0

/** Active variants that get nothing although their template is used. */
const idleVariants = (
  models: Models["Service"],
  org: string,
  { id, variants }: TemplateView,
  now: number,
): ReadonlyArray<string> => {
  const model = models.latest(org, id)?.model
  if (model === undefined || model.traffic.reduce((sum, { sends }) => sum + sends, 0) < enoughDecisions) return []
  const served = new Set(model.variants.flatMap((variant) => variant.sends > 0 ? [variant.id] : []))
  return variants.filter((variant) => variant.active && variant.calendar.holds(now) && !served.has(variant.id))
    .map((variant) => variant.id)
}

/** Share of a quota from which on it is shown. */
const nearQuota = 0.8

/** A notice that the organization is near its daily quota of webhook bodies, or has reached it. */
const quotaTroubles = (usage: Usage, href: string): ReadonlyArray<Trouble> => {
  const { webhook_bytes: used, webhook_daily_bytes: quota, webhook_refused: refused } = usage
  if (quota === null || used < nearQuota * quota) return []
  const figures = `${formatBytes(used)} of ${formatBytes(quota)} stored today.`
  const ask = "The quota starts anew at 00:00 UTC; an administrator of the installation can raise it."
  return used < quota
    ? [{
      kind: "warn",
      what: "quota",
      href,
      title: `Webhook quota: ${Math.floor(100 * used / quota)} % used`,
      detail: `${figures} At 100 %, further webhooks are refused with status 429. ${ask}`,
    }]
    : [{
      kind: "bad",
      what: "quota",
      href,
      title: "Webhook quota reached",
      detail:
        `${figures} ${count(refused)} ${refused === 1 ? "request was" : "requests were"} refused with status 429, ` +
        `which platforms send again later. ${ask}`,
    }]
}

/** Failed shares of the messages that ended in the last 24 hours: from the first on they are shown, from the second on as bad. */
const failedShares = { warn: 0.01, bad: 0.1 }

/** Failed messages from which on a share is bad: of a few messages one says little. */
const manyFailed = 10

/** A notice that many of the messages that ended in the last 24 hours have failed. */
export const failureTroubles = (
  { failed, sent, since }: RecentEnds,
  deliveries: string,
): ReadonlyArray<Trouble> => {
  const share = failed / Math.max(1, failed + sent)
  if (failed === 0 || share < failedShares.warn) return []
  return [{
    kind: share >= failedShares.bad && failed >= manyFailed ? "bad" : "warn",
    what: "delivery",
    href: `${deliveries}?state=failed&since=${since.toISOString()}`,
    title: `${count(failed)} of ${count(failed + sent)} messages failed`,
    detail:
      `That is ${share < 0.1 ? (100 * share).toFixed(1) : Math.round(100 * share)} % of those that ended in the last ` +
      "24 hours. The list says why. Once the cause is mended, retry all of them there.",
  }]
}

/** A notice for each bulk action that has stopped in the last 24 hours. */
const stoppedTroubles = (actions: ReadonlyArray<BulkAction>, now: number, pathOf: (id: string) => string) =>
  actions
    .filter((one) => isStopped(one, now))
    .map(({ changed, id, kind, matched, reason }): Trouble => ({
      kind: "bad",
      what: "delivery",
      href: pathOf(id),
      title: `${kind === "retry" ? "Retrying" : "Cancelling"} ${count(matched)} messages has stopped`,
      detail: `It stopped after ${count(changed)}: ${reason ?? "unknown"}.`,
    }))

const quoted = (ids: ReadonlyArray<string>) =>
  ids.length > 3 ? `${ids.slice(0, 3).join(", ")} and ${ids.length - 3} more` : ids.join(", ")

/** The overview page of an organization: its setup, its activity, and everything that needs attention. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { page } = yield* Console
  const arrivals = yield* Arrivals
  const connections = yield* Connections
  const bulk = yield* BulkActions
  const deliveries = yield* Deliveries
  const index = yield* TemplateIndex
  const keys = yield* Keys
  const learning = yield* Learning
  const models = yield* Models
  const sources = yield* WebhookSources
  const traffic = yield* Traffic
  const views = yield* Views
  const quota = yield* WebhookQuota

  const show = Effect.fnUntraced(function* ({ can, org }: Visit) {
    const base = `/console/o/${org.slug}`
    const now = yield* Clock.currentTimeMillis
    const templates = [...views.templates(org.slug).values()].filter(({ archived }) => !archived)
    const live = (yield* keys.list(org.slug)).filter(({ expires_at, revoked_at }) =>
      revoked_at === null && (expires_at === null || Date.parse(expires_at) > now)
    )
    const arriving = yield* arrivals.recent(org.slug)
    const ways = yield* connections.list(org.slug)
    const setups = yield* sources.list(org.slug)
    const queue = yield* deliveries.summary(org.slug)
    const ends = yield* deliveries.recentEnds(org.slug)
    const actions = yield* bulk.list(org.slug, 20)
    const stopped = yield* learning.stopped(org.slug)
    const usage = yield* quota.usage(org.slug)

    const busiest = templates.map((template) => ({ template, sends: recentSends(models, org.slug, template.id) }))
      .sort((a, b) => b.sends - a.sends || (a.template.id < b.template.id ? -1 : 1))
      .slice(0, shownTemplates)
      .map(({ template }) => template)
    const daily = yield* traffic.daily(org.slug, busiest.map(({ id }) => id))
    const names = yield* index.names(org.slug, busiest.map(({ id }) => id))
    const today = (id: string) => daily.get(id)?.at(-1) ?? 0
    const shown = busiest.toSorted((a, b) => today(b.id) - today(a.id))

    const troubles: ReadonlyArray<Trouble> = [
      ...quotaTroubles(usage, `${base}/sources`),
      ...ways.flatMap(({ enabled, name, paused, trouble }): ReadonlyArray<Trouble> =>
        !enabled ? [] : trouble !== null
          ? [{
            kind: trouble.state === "slow-down" ? "warn" : "bad",
            what: "connection",
            href: `${base}/connections/${name}`,
            title: `${name} ${troubleTitle[trouble.state]}`,
            detail: trouble.reason,
          }]
          : paused
          ? [{
            kind: "warn",
            what: "connection",
            href: `${base}/connections/${name}`,
            title: `${name} is paused`,
            detail: "What is due waits until it goes on.",
          }]
          : []
      ),
      ...arriving.flatMap(({ lagSeconds, notUnderstood, pending, source }): ReadonlyArray<Trouble> => [
        ...(lagSeconds > longLag
          ? [{
            kind: "bad" as const,
            what: "events",
            href: `${base}/sources/${source}`,
            title: `${nameOf(source)}: events wait`,
            detail: `${count(pending)} bodies have not been looked at, the oldest for ${ages(lagSeconds)}.`,
          }]
          : []),
        ...(notUnderstood > 0
          ? [{
            kind: "warn" as const,
            what: "events",
            href: `${base}/sources/${source}/inbox`,
            title: `${nameOf(source)}: ${count(notUnderstood)} not understood`,
            detail:
              "Bodies, wholly or in part, of those received last. They are kept: mend the source and replay them.",
          }]
          : []),
      ]),
      ...(queue.oldestDueSeconds > longQueue
        ? [{
          kind: "bad" as const,
          what: "delivery",
          href: `${base}/deliveries?state=queued`,
          title: "Messages are late",
          detail: `The oldest has been due for ${ages(queue.oldestDueSeconds)}.`,
        }]
        : []),
      ...failureTroubles(ends, `${base}/deliveries`),
      ...stoppedTroubles(actions, now, (id) => actionPath(org.slug, id)),
      ...stopped.map(({ reason, templateId }): Trouble => ({
        kind: "bad",
        what: "learning",
        href: `${base}/templates/${encodeURIComponent(templateId)}/results`,
        title: `${templateId} has stopped learning`,
        detail: `New counts could not be folded in three attempts: ${reason}. It is served by its last model.`,
      })),
      ...templates.flatMap((template): ReadonlyArray<Trouble> => {
        const href = `${base}/templates/${encodeURIComponent(template.id)}`
        const idle = idleVariants(models, org.slug, template, now)
        return [
          ...(!template.variants.some(({ active }) => active)
            ? [{
              kind: "warn" as const,
              what: "template",
              href,
              title: `${template.id} has no active variant`,
              detail: "Nobody gets anything of it.",
            }]
            : []),
          ...(idle.length > 0
            ? [{
              kind: "warn" as const,
              what: "template",
              href,
              title: `${template.id}: active variants without traffic`,
              detail: `${quoted(idle)}. Check whom they are meant for: their targeting may hold for nobody.`,
            }]
            : []),
        ]
      }),
    ].toSorted((a, b) => Number(b.kind === "bad") - Number(a.kind === "bad"))

    const hasSource = arriving.length > 0 || setups.some(({ enabled }) => enabled)
    const isNew = live.length === 0 || templates.length === 0 || !hasSource
    const view: View = {
      title: "Overview",
      live: true,
      body: (
        <>
          <PageHead
            title={org.name}
            lead="Decisions, events, deliveries, and everything that needs attention."
            actions={<Live />}
          />
          {isNew ? <Start base={base} can={can} done={[live.length > 0, templates.length > 0, hasSource]} /> : null}
          <div data-live="attention">
            {troubles.length === 0 ? null : (
              <Card title="Needs attention">
                <ul class="attention">
                  {troubles.slice(0, shownTroubles).map(({ detail, href, kind, title, what }) => (
                    <li>
                      <Badge kind={kind}>{what}</Badge>
                      <a href={href}>{title}</a>
                      <p>{detail}</p>
                    </li>
                  ))}
                </ul>
                {troubles.length > shownTroubles
                  ? <p class="small muted">And {troubles.length - shownTroubles} more of the kind.</p>
                  : null}
              </Card>
            )}
          </div>
          <div class="card flush">
            <div data-live="templates">
              {shown.length === 0
                ? (
                  <Empty title="No templates yet">
                    A template holds the variants of one message; what does well gets more of the traffic.
                  </Empty>
                )
                : (
                  <Table
                    caption="Templates in use"
                    headings={[
                      "Template",
                      "Decisions today (UTC)",
                      `Last ${trafficDays} days`,
                      "Variants",
                      "[Results]",
                    ]}
                    rows={shown.map(({ id, variants }) => {
                      const active = variants.filter((one) => one.active).length
                      const href = `${base}/templates/${encodeURIComponent(id)}`
                      return [
                        <span>
                          <a href={href}>{names.get(id) ?? id}</a>
                          {(names.get(id) ?? id) === id ? null : <span class="sub">{id}</span>}
                        </span>,
                        { content: <b class="number">{count(today(id))}</b>, kind: "nowrap" as const },
                        <Sparkline days={daily.get(id) ?? []} what="decision" />,
                        { content: `${active} of ${variants.length} active`, kind: "nowrap" as const },
                        {
                          content: (
                            <a href={`${href}/results`} aria-label={`Results of ${names.get(id) ?? id}`}>Results</a>
                          ),
                          kind: "actions" as const,
                        },
                      ]
                    })}
                  />
                )}
              {templates.length > shown.length
                ? (
                  <p class="notes small">
                    <a href={`${base}/templates`}>All {count(templates.length)} templates</a>
                  </p>
                )
                : null}
            </div>
          </div>
          <div class="overview">
            <div class="card flush">
              <div data-live="events">
                {arriving.length === 0
                  ? (
                    <Empty
                      title="No events yet"
                      action={can("putSource")
                        ? <a class="button" href={`${base}/sources`}>Webhook sources</a>
                        : undefined}
                    >
                      Opens, clicks and conversions tell which variant does better. They come from your platform or your
                      own code.
                    </Empty>
                  )
                  : (
                    <Table
                      caption="Events coming in"
                      headings={["Source", "Last hour", "Last event"]}
                      rows={arriving.map((one) => [
                        <span>
                          <a href={`${base}/sources/${one.source}`}>{nameOf(one.source)}</a>
                          <span class="sub">
                            {one.pending === 0
                              ? "nothing waits"
                              : `${count(one.pending)} waiting, for ${ages(one.lagSeconds)}`}
                          </span>
                        </span>,
                        {
                          content: (
                            <b class="number">
                              {one.isAtLeast ? "over " : ""}
                              {count(one.eventsLastHour)}
                            </b>
                          ),
                          kind: "nowrap" as const,
                        },
                        <Time at={one.lastReceivedAt.toISOString()} zone={org.time_zone} />,
                      ])}
                    />
                  )}
              </div>
            </div>
            <Card
              title="Deliveries"
              actions={<a class="button compact" href={`${base}/deliveries`}>All deliveries</a>}
            >
              <div data-live="deliveries">
                {ways.length === 0
                  ? (
                    <p class="muted">
                      No connection is set up: Parlance decides, your own systems send. {can("putConnection")
                        ? <a href={`${base}/connections`}>Connect a platform</a>
                        : "An admin can connect a platform"} to have it send as well.
                    </p>
                  )
                  : (
                    <dl class="figures">
                      <Fact what="a second now">{queue.sentPerSecond.toFixed(queue.sentPerSecond < 10 ? 1 : 0)}</Fact>
                      <Fact what="due now">{count(queue.queued)}</Fact>
                      <Fact what="oldest due for">{ages(queue.oldestDueSeconds)}</Fact>
                      <Fact what="scheduled">{count(queue.scheduled)}</Fact>
                      <Fact what="sent">{count(queue.sent)}</Fact>
                      <Fact what="failed">{count(queue.failed)}</Fact>
                    </dl>
                  )}
              </div>
            </Card>
          </div>
          <LiveScript />
        </>
      ),
    }
    return view
  })

  yield* router.addAll([page("/console/o/:org", "getOrganization", show)])
})).pipe(Layer.provide(Layer.mergeAll(Arrivals.layer, TemplateIndex.layer, Traffic.layer)))

const Fact = ({ children, what }: { readonly what: string; readonly children: ComponentChildren }) => (
  <div>
    <dt>{what}</dt>
    <dd>{children}</dd>
  </div>
)

/** The way from nothing to a message that gets better. */
const Start = ({ base, can, done: [hasKey, hasTemplate, hasSource] }: {
  readonly base: string
  readonly can: Visit["can"]
  readonly done: readonly [key: boolean, template: boolean, source: boolean]
}) => {
  const steps = [
    {
      done: hasKey,
      title: "Make an API key",
      text: "Your systems ask for content with it.",
      button: "Create New API Key",
      href: `${base}/settings/keys/new`,
      may: can("createKey"),
    },
    {
      done: hasTemplate,
      title: "Write a template",
      text: "One message in two or more variants, with the words that change for each reader.",
      button: "Create a template",
      href: `${base}/templates/-/new`,
      may: can("createTemplate"),
    },
    {
      done: hasSource,
      title: "Let events come in",
      text:
        "Connect your messaging platform, or post events yourself: what people open and click decides what is shown.",
      button: "Connect a source",
      href: `${base}/sources`,
      may: can("putSource"),
    },
  ]
  const next = steps.findIndex(({ done }) => !done)
  return (
    <Card title="Next steps">
      <ol class="start">
        {steps.map(({ button, done, href, may, text, title }, at) => (
          <li>
            <b>{title}</b> {done ? <Badge kind="good">done</Badge> : null}
            <p>{text}</p>
            {done || !may ? null : <a class={at === next ? "button primary" : "button"} href={href}>{button}</a>}
          </li>
        ))}
      </ol>
    </Card>
  )
}
