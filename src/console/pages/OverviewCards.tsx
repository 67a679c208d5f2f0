import { Effect } from "effect"
import type { ComponentChildren } from "preact"
import { type ConnectionSetup } from "../../delivery/Connections.ts"
import { Deliveries } from "../../delivery/Deliveries.ts"
import { type Arrival } from "../../journal/inbox/Arrivals.ts"
import { trafficDays } from "../../results/Traffic.ts"
import { type TemplateView } from "../../templates/TemplateCache.ts"
import { count, duration, rate } from "../Format.ts"
import { Badge } from "../components/Badge.tsx"
import { Card } from "../components/Card.tsx"
import { Empty } from "../components/Empty.tsx"
import { Table } from "../components/Table.tsx"
import { Time } from "../components/Time.tsx"
import { type Visit } from "../Routes.tsx"
import { Sparkline } from "./templates/Sparkline.tsx"
import { nameOf, type Trouble } from "./OverviewTroubles.ts"

/** Things to look after that are listed. */
const shownTroubles = 12

/** Problems that need attention, the worst first. */
export const Attention = ({ troubles }: { readonly troubles: readonly Trouble[] }) => (
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
    {troubles.length > shownTroubles && (
      <p class="small muted">And {troubles.length - shownTroubles} more of the kind.</p>
    )}
  </Card>
)

/** The templates with the most traffic. */
export const TemplatesInUse = ({ base, daily, names, shown, templates, today }: {
  readonly base: string
  readonly daily: ReadonlyMap<string, ReadonlyArray<number>>
  readonly names: ReadonlyMap<string, string>
  readonly shown: TemplateView[]
  readonly templates: TemplateView[]
  readonly today: (id: string) => number
}) => (
  <div class="card flush">
    <div data-live="templates">
      {shown.length === 0
        ? (
          <Empty title="No templates yet">
            A template holds the variants of one message. Better variants get more traffic.
          </Empty>
        )
        : (
          <Table
            cards="labelled"
            first={3}
            caption="Templates in use"
            headings={["Template", "Decisions today (UTC)", `Last ${trafficDays} days`, "Variants", "[Results]"]}
            rows={shown.map(({ id, variants }) => {
              const active = variants.filter((one) => one.active).length
              const href = `${base}/templates/${encodeURIComponent(id)}`
              return [
                <span>
                  <a href={href}>{names.get(id) ?? id}</a>
                  {(names.get(id) ?? id) !== id && <span class="sub">{id}</span>}
                </span>,
                { content: <b class="number">{count(today(id))}</b>, kind: "nowrap" as const },
                <Sparkline days={daily.get(id) ?? []} what="decision" />,
                { content: `${active} of ${variants.length} active`, kind: "nowrap" as const },
                {
                  content: <a href={`${href}/results`} aria-label={`${names.get(id) ?? id} · Results`}>Results</a>,
                  kind: "actions" as const,
                },
              ]
            })}
          />
        )}
      {templates.length > shown.length && (
        <p class="notes small">
          <a href={`${base}/templates`}>All {count(templates.length)} templates</a>
        </p>
      )}
    </div>
  </div>
)

/** Event sources with their recent events. */
export const IncomingEvents = ({ arriving, base, can, org }: {
  readonly arriving: readonly Arrival[]
  readonly base: string
  readonly can: Visit["can"]
  readonly org: Visit["org"]
}) => (
  <div class="card flush">
    <div data-live="events">
      {arriving.length === 0
        ? (
          <Empty
            title="No events yet"
            action={can("putSource") ? <a class="button" href={`${base}/sources`}>Webhook sources</a> : undefined}
          >
            Opens, clicks and conversions show which variant does better. They come from your platform or your own code.
          </Empty>
        )
        : (
          <Table
            cards="labelled"
            caption="Events coming in"
            headings={["Source", "Last hour", "Last event"]}
            rows={arriving.map((one) => [
              <span>
                <a href={`${base}/sources/${one.source}`}>{nameOf(one.source)}</a>
                <span class="sub">
                  {one.pending === 0
                    ? "queue is empty"
                    : `${count(one.pending)} waiting, for ${duration(one.lagSeconds)}`}
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
)

/** Counts of deliveries. */
export const DeliveryCard = ({ base, can, queue, ways }: {
  readonly base: string
  readonly can: Visit["can"]
  readonly queue: Effect.Success<ReturnType<Deliveries["Service"]["summary"]>>
  readonly ways: ReadonlyArray<ConnectionSetup>
}) => (
  <Card title="Deliveries" actions={<a class="button compact" href={`${base}/deliveries`}>All deliveries</a>}>
    <div data-live="deliveries">
      {ways.length === 0
        ? (
          <p class="muted">
            No connection is set up: Parlance chooses the content and your own systems send it. {can("putConnection")
              ? <a href={`${base}/connections`}>Connect a platform</a>
              : "An admin can connect a platform"} to send through Parlance.
          </p>
        )
        : (
          <dl class="figures">
            <Fact what="a second now">{rate(queue.sentPerSecond)}</Fact>
            <Fact what="due now">{count(queue.queued)}</Fact>
            <Fact what="oldest due for">{duration(queue.oldestDueSeconds)}</Fact>
            <Fact what="scheduled">{count(queue.scheduled)}</Fact>
            <Fact what="sent">{count(queue.sent)}</Fact>
            <Fact what="failed">{count(queue.failed)}</Fact>
          </dl>
        )}
    </div>
  </Card>
)

const Fact = ({ children, what }: { readonly what: string; readonly children: ComponentChildren }) => (
  <div>
    <dt>{what}</dt>
    <dd>{children}</dd>
  </div>
)

/** Which of the first steps an organization has taken. */
export interface StartSteps {
  /** A key that works. */
  readonly hasKey: boolean
  readonly hasTemplate: boolean
  /** A template with two active variants or more. */
  readonly hasVariants: boolean
  /** A source that is set up or has sent events. */
  readonly hasSource: boolean
  /** Decisions of the last days. */
  readonly hasTraffic: boolean
}

const stepsOf = (base: string, can: Visit["can"], steps: StartSteps) => [
  {
    done: steps.hasTemplate,
    title: "Write a template",
    text: "One message, with the words that change for each reader.",
    button: "Create a template",
    href: `${base}/templates/-/new`,
    may: can("createTemplate"),
  },
  {
    done: steps.hasVariants,
    title: "Activate two variants",
    text: "Two versions of a template or more, so that there is something to learn.",
    button: "See templates",
    href: `${base}/templates`,
    may: can("updateVariant"),
  },
  {
    done: steps.hasKey,
    title: "Create an API key",
    text: "Your systems request content with it.",
    button: "Create New API Key",
    href: `${base}/settings/keys/new`,
    may: can("createKey"),
  },
  {
    done: steps.hasSource,
    title: "Receive events",
    text: "Connect your messaging platform, or post events yourself: opens and clicks decide which variant is shown.",
    button: "Connect a source",
    href: `${base}/sources`,
    may: can("putSource"),
  },
  {
    done: steps.hasTraffic,
    title: "Request content",
    text: "Ask for content with the key from your systems. The results of the template follow within seconds.",
    button: "How to request content",
    href: "/docs/guide/api#before-you-start",
    may: true,
  },
]

/** Setup steps of a new organization with their progress; absent once all are done. */
export const Start = ({ base, can, steps }: {
  readonly base: string
  readonly can: Visit["can"]
  readonly steps: StartSteps
}) => {
  const all = stepsOf(base, can, steps)
  const next = all.findIndex(({ done }) => !done)
  const finished = all.filter(({ done }) => done).length
  return next < 0 ? null : (
    <Card title="Next steps" lead={`${finished} of ${all.length} done`}>
      <ol class="start">
        {all.map(({ button, done, href, may, text, title }, at) => (
          <li>
            <b>{title}</b> {done && <Badge kind="good">done</Badge>}
            <p>{text}</p>
            {!done && may && <a class={at === next ? "button primary" : "button"} href={href}>{button}</a>}
          </li>
        ))}
      </ol>
    </Card>
  )
}
