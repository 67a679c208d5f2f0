import { Clock, Effect, Layer } from "effect"
import { type BulkAction, BulkActions, isStopped } from "../../../delivery/BulkActions.ts"
import type { BulkKind } from "../../../delivery/BulkPreview.ts"
import { Connections } from "../../../delivery/Connections.ts"
import { countedAtMost, Deliveries } from "../../../delivery/Deliveries.ts"
import { type Delivery, type DeliveryState, type DeliverySummary, hasExpired } from "../../../delivery/Delivery.ts"
import { DeliveryRates, keptHours } from "../../../delivery/DeliveryRates.ts"
import { isStorable } from "../../../domain/Attributes.ts"
import { TemplateIndex } from "../../../templates/TemplateIndex.ts"
import { TemplateCache } from "../../../templates/TemplateCache.ts"
import { count, counted, reasonText } from "../../Format.ts"
import { pageOf } from "../../../api/http/Paging.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { Card } from "../../components/Card.tsx"
import { Facts } from "../../components/Facts.tsx"
import { askFirst } from "../../components/AskFirst.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Live, LiveScript } from "../../components/Live.tsx"
import { Note } from "../../components/Note.tsx"
import { Pagination } from "../../components/Pagination.tsx"
import type { SortHeading } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Visit } from "../../Routes.tsx"
import { templatePath } from "../templates/Paths.ts"
import { ViewsBar, viewsOf, withStartView } from "../ViewPages.tsx"
import { actionPath, bulkPath } from "./BulkPages.tsx"
import * as BulkPages from "./BulkPages.tsx"
import { Trouble } from "./ConnectionState.tsx"
import * as ConnectionPages from "./ConnectionPages.tsx"
import * as ReceiverPages from "./ReceiverPages.tsx"
import { bulkTitle, type DeliveryQuery, FilterForm, filterIn, messagesOf } from "./DeliveryFilters.tsx"
import { deliveriesPath, DeliveryBadge, isCancellable, isRetriable, stateText, SummaryCard } from "./DeliveryViews.tsx"
import { type DeliveryNames, DeliveryTable, namesFor, templateName, variantName } from "./DeliveryTable.tsx"
import { Pictures } from "./DeliveryPictures.tsx"
import * as MessageFrame from "./MessageFrame.tsx"

/** Rows of a page: fewer below the charts. */
const pageSizes = { alone: 25, belowCharts: 12 }

/** The bulk action that there is for deliveries in a state. */
const bulkOf: { readonly [state in DeliveryState]?: BulkKind } = { failed: "retry", queued: "cancel" }

/** Templates that the field of the filter offers. */
const offeredTemplates = 200

/** The number of deliveries that the filter's bulk action would change, if there is one that the visitor may use. */
const bulkFor = Effect.fnUntraced(function* ({ can, org }: Visit, { faults, filter }: DeliveryQuery) {
  const kind = filter.state === undefined ? undefined : bulkOf[filter.state]
  if (kind === undefined || faults.length > 0) return undefined
  if (!can(kind === "retry" ? "retryDeliveries" : "cancelDeliveries")) return undefined
  const found = yield* (yield* BulkActions).count(org.slug, kind, filter)
  return found === 0 ? undefined : { kind, count: found }
})

/** Texts of the number of messages that can be changed, which may be a lower bound. */
const bulkTexts: {
  readonly [kind in BulkKind]: {
    readonly possible: (many: number, orMore: boolean) => string
    readonly button: (many: number, orMore: boolean) => string
  }
} = {
  retry: {
    possible: (many, orMore) =>
      orMore
        ? t`${messagesOf(many)} or more can be retried`
        : counted(many, "message can be retried", "messages can be retried"),
    button: (many, orMore) => orMore ? t`Retry all` : t`Retry all ${count(many)}`,
  },
  cancel: {
    possible: (many, orMore) =>
      orMore
        ? t`${messagesOf(many)} or more can be cancelled`
        : counted(many, "message can be cancelled", "messages can be cancelled"),
    button: (many, orMore) => orMore ? t`Cancel all` : t`Cancel all ${count(many)}`,
  },
}

/** The number of deliveries that a bulk action would change, and the way to it. */
const BulkBar = ({ filter, forAll, org }: {
  readonly filter: URLSearchParams
  readonly forAll: { kind: BulkKind; count: number }
  readonly org: Visit["org"]
}) => (
  <div class="bulk-bar">
    <p>
      {bulkTexts[forAll.kind].possible(forAll.count, forAll.count >= countedAtMost)}
    </p>
    <a
      class={forAll.kind === "retry" ? "button primary" : "button danger"}
      href={`${bulkPath(org.slug, forAll.kind)}?${filter}`}
    >
      {bulkTexts[forAll.kind].button(forAll.count, forAll.count >= countedAtMost)}
    </a>
  </div>
)

/** How many deliveries a filter finds, where that is known without reading them. */
const knownCount = (
  { members, filter: { state } }: DeliveryQuery,
  { cancelled, failed, queued, scheduled, sending, sent }: DeliverySummary,
): number | undefined => {
  if (Object.keys(members).length > 0) return undefined
  const counts = { cancelled, failed, queued: queued + scheduled, sending, sent }
  return state === undefined ? Object.values(counts).reduce((sum, count) => sum + count, 0) : counts[state]
}

/** The hours that the charts cover. Default: 1, also if the query's `hours` is not a whole number from 1 to `keptHours`. */
const hoursOf = (query: URLSearchParams): number => {
  const text = query.get("hours") ?? ""
  const hours = Number(text)
  return /^\d{1,4}$/.test(text) && hours >= 1 && hours <= keptHours ? hours : 1
}

const actionLink = (org: Visit["org"], { id, kind, matched }: BulkAction) => (
  <a href={actionPath(org.slug, id)}>{bulkTitle[kind](matched)}</a>
)

/** The caption of the list. `total`: undefined if it is not known. */
const captionOf = (total: number | undefined, order: "latest" | "oldest"): string => {
  const what = total === undefined ? t`Deliveries` : counted(total, "delivery", "deliveries")
  return order === "latest" ? t`${what}, newest first` : t`${what}, oldest first`
}

const list = Effect.fnUntraced(function* (visit: Visit) {
  const deliveries = yield* Deliveries
  const connections = yield* Connections
  const { org, query } = visit
  const at = deliveriesPath(org.slug)
  const views = yield* viewsOf(visit, "deliveries")
  const filtered = filterIn(query, org.time_zone)
  const cursor = query.get("cursor") || undefined
  const order = query.get("order") === "oldest" ? "oldest" as const : "latest" as const
  const summary = yield* deliveries.summary(org.slug)
  const isFaulty = filtered.faults.length > 0
  const { cancelled, failed, queued, scheduled, sending, sent } = summary
  // A filtered page shows only the list. The first page of all deliveries also shows charts of the queue.
  const isFiltered = filtered.query.size > 0 || isFaulty
  const isEmpty = cancelled + failed + queued + scheduled + sending + sent === 0
  const isPictured = !isFiltered && cursor === undefined && order === "latest" && !isEmpty
  const pageSize = isPictured ? pageSizes.belowCharts : pageSizes.alone
  const criteria = { ...filtered.filter, cursor, order }
  const { next, page: shown } = isFaulty
    ? { next: null, page: [] }
    : yield* pageOf(pageSize, (limit) => deliveries.list(org.slug, { ...criteria, limit }))
  const forAll = yield* bulkFor(visit, filtered)
  const now = yield* Clock.currentTimeMillis
  const unfinished = (yield* (yield* BulkActions).list(org.slug, 5)).filter((one) =>
    one.state === "running" || isStopped(one, now)
  )
  // A search in reasons may read all deliveries of a state, so such a page does not renew itself.
  const isLive = filtered.filter.reason === undefined
  const names = yield* namesFor(yield* TemplateIndex, org, shown)
  const total = knownCount(filtered, summary)
  const sortQuery = new URLSearchParams(filtered.query)
  if (order === "latest") sortQuery.set("order", "oldest")
  const queuedHeading: SortHeading = {
    label: t`Queued`,
    href: sortQuery.size === 0 ? at : `${at}?${sortQuery}`,
    order: order === "latest" ? "descending" : "ascending",
  }
  const hours = hoursOf(query)
  const series = isPictured ? yield* (yield* DeliveryRates).series(org.slug, hours) : undefined
  const filter = filtered.query
  const paged = new URLSearchParams(filter)
  if (order === "oldest") paged.set("order", order)
  const active = connections.active(org.slug)
  const inUse = (yield* connections.list(org.slug)).find(({ name }) => name === active?.name)
  return view(
    {
      title: t`Deliveries`,
      lead: t`Messages that this service sends through a connection: queued, sent and failed.`,
      actions: isLive ? <Live /> : undefined,
    },
    active === undefined
      ? (
        <Note kind="warn">
          {t`No connection is in use, so no messages are sent. ${(
            <a href={`/console/o/${org.slug}/connections`}>
              {visit.can("putConnection") ? t`Set one up` : t`See connections`}
            </a>
          )}.`}
        </Note>
      )
      : inUse?.trouble != null
      ? <Trouble setup={inUse} zone={org.time_zone} href={`/console/o/${org.slug}/connections/${inUse.name}`} />
      : active.paused
      ? (
        <Note kind="warn">
          {t`The connection ${(
            <a href={`/console/o/${org.slug}/connections/${active.name}`}>{active.name}</a>
          )} is paused. Due messages wait until you resume it.`}
        </Note>
      )
      : null,
    unfinished.map((one) => (
      <Note kind={one.state === "failed" ? "bad" : "plain"}>
        {one.state === "failed"
          ? t`${actionLink(org, one)} stopped early.`
          : t`${actionLink(org, one)} is running: ${count(one.changed)} done.`}
      </Note>
    )),
    !isEmpty && <SummaryCard summary={summary} />,
    series !== undefined && <Pictures series={series} path={at} zone={org.time_zone} />,
    <ViewsBar query={String(paged)} views={views} visit={visit} />,
    <Card kind="flush">
      {(!isEmpty || isFiltered) && (
        <FilterForm
          filtered={filtered}
          at={at}
          all={views.all}
          connections={(yield* connections.list(org.slug)).map(({ name }) => name)}
          templates={[...(yield* TemplateCache).templates(org.slug).keys()].slice(0, offeredTemplates)}
          query={query}
          zone={org.time_zone}
        />
      )}
      <div data-live="deliveries">
        {forAll !== undefined && <BulkBar filter={filter} forAll={forAll} org={org} />}
        {shown.length === 0
          ? (
            <Empty title={isFiltered || cursor !== undefined ? t`No matching deliveries` : t`No deliveries yet`}>
              {isFiltered || cursor !== undefined
                ? t`Change or clear the filter.`
                : t`Send a message with the Deliver endpoint to see it here. The API key needs the deliver scope.`}
            </Empty>
          )
          : (
            <DeliveryTable
              at={at}
              first={isPictured ? 3 : 6}
              caption={captionOf(total, order)}
              names={names}
              now={now}
              queued={queuedHeading}
              shown={shown}
              visit={visit}
            />
          )}
        <Pagination
          label={t`Pages of deliveries`}
          isOldestFirst={order === "oldest"}
          at={paged.size === 0 ? at : `${at}?${paged}`}
          cursor={cursor}
          next={next}
        />
      </div>
    </Card>,
    isLive && <LiveScript />,
  )
})

const existing = ({ org, params }: Visit) => {
  const id = params["delivery"] ?? ""
  return Deliveries.use((deliveries) => deliveries.get(org.slug, isStorable(id) ? id : ""))
}

const priorities: { readonly [priority in Delivery["priority"]]: string } = {
  transactional: english("transactional"),
  bulk: english("bulk"),
}

const DeliveryFacts = ({ delivery, names, org, zone }: {
  readonly delivery: Delivery
  readonly names: DeliveryNames
  readonly org: Visit["org"]
  readonly zone: string
}) => (
  <Facts
    rows={[
      [t`State`, <DeliveryBadge state={delivery.state} />],
      delivery.reason !== null && [t`Reason`, reasonText(delivery.reason, zone)],
      [t`Failed attempts`, delivery.attempts],
      [
        t`Template, variant`,
        <>
          <a href={templatePath(org.slug, delivery.templateId)} dir="auto">
            {templateName(names, delivery)}
          </a>, <bdi>{variantName(names, delivery)}</bdi>
        </>,
      ],
      [t`Priority`, translated(priorities[delivery.priority])],
      [t`Queued`, <Time at={delivery.queuedAt.toISOString()} zone={zone} />],
      delivery.finishedAt === null
        ? [delivery.attempts > 0 ? t`Next attempt` : t`Due`, <Time at={delivery.dueAt.toISOString()} zone={zone} />]
        : [t`Done`, <Time at={delivery.finishedAt.toISOString()} zone={zone} />],
      delivery.expiresAt !== null && [t`Expires`, <Time at={delivery.expiresAt.toISOString()} zone={zone} />],
      [t`Connection`, delivery.connection ?? <span class="muted">{t`none yet`}</span>],
      delivery.messageId !== null && [t`Message ID at the platform`, <code>{delivery.messageId}</code>],
      [t`Tracking id`, <code>{delivery.id}</code>],
    ]}
  />
)

const show = Effect.fnUntraced(function* (visit: Visit) {
  const { can, org } = visit
  const delivery = yield* existing(visit)
  const now = yield* Clock.currentTimeMillis
  const at = `${deliveriesPath(org.slug)}/${delivery.id}`
  const story = `/console/o/${org.slug}/people?q=${encodeURIComponent(delivery.id)}`
  const zone = org.time_zone
  return view(
    {
      document: t`Delivery`,
      // The page frames a message of somebody else: its scripts connect to nothing.
      live: false,
      title: delivery.email ?? t`Delivery of an erased person`,
      back: { href: deliveriesPath(org.slug), label: t`Deliveries` },
      actions: (
        <>
          <a class="button" href={story}>{t`Full history`}</a>
          {isRetriable(delivery, now) && can("retryDelivery") && (
            <a class="button primary" href={`${at}/retry`}>{t`Retry`}</a>
          )}
          {isCancellable(delivery) && can("cancelDelivery") && (
            <a class="button danger" href={`${at}/cancel`}>{t`Cancel`}</a>
          )}
        </>
      ),
    },
    <Card>
      <DeliveryFacts
        delivery={delivery}
        names={yield* namesFor(yield* TemplateIndex, org, [delivery])}
        org={org}
        zone={zone}
      />
    </Card>,
    <Card title={t`The message`}>
      {delivery.vars === null
        ? <p class="muted">{t`The content was erased with the person's data.`}</p>
        : <MessageFrame.Message delivery={delivery} org={org.slug} />}
    </Card>,
  )
})

const confirm = (
  what: "cancel" | "retry",
  { button, text, title: question }: { readonly title: string; readonly button: string; readonly text: string },
) =>
  Effect.fnUntraced(function* (visit: Visit) {
    const delivery = yield* existing(visit)
    const now = yield* Clock.currentTimeMillis
    const at = `${deliveriesPath(visit.org.slug)}/${delivery.id}`
    const title = translated(question)
    const possible = what === "cancel" ? isCancellable(delivery) : isRetriable(delivery, now)
    const back = { href: at, label: t`Delivery` }
    if (possible) {
      return askFirst({
        question: title,
        back,
        button: translated(button),
        text: (
          <p>
            {translated(text)}{" "}
            {t`It goes to ${<b>{delivery.email}</b>}, from the template ${<b>{delivery.templateId}</b>}.`}
          </p>
        ),
      })
    }
    return view(
      { title, back },
      <Note kind="warn">
        {delivery.state === "failed" && hasExpired(delivery, now)
          ? t`The message has expired.`
          : what === "cancel"
          ? t`The message is ${stateText(delivery.state)}, so you cannot cancel it.`
          : t`The message is ${stateText(delivery.state)}, so you cannot retry it.`}{" "}
        <a href={at}>{t`Back to the delivery`}</a>.
      </Note>,
    )
  })

const cancelAction = Effect.fnUntraced(function* (visit: Visit) {
  const { id } = yield* existing(visit)
  yield* (yield* Deliveries).cancel(visit.org.slug, id)
  return { to: `${deliveriesPath(visit.org.slug)}/${id}`, done: "delivery-cancelled" }
})

const retryAction = Effect.fnUntraced(function* (visit: Visit) {
  const { id } = yield* existing(visit)
  yield* (yield* Deliveries).retry(visit.org.slug, id)
  return { to: `${deliveriesPath(visit.org.slug)}/${id}`, done: "delivery-retried" }
})

/** Deliveries: queued, sending and finished messages. */
const own = pages(({ asks, page }) => [
  page("/console/o/:org/deliveries", "listDeliveries", withStartView("deliveries", list)),
  page("/console/o/:org/deliveries/:delivery", "getDelivery", show),
  ...asks(
    "/console/o/:org/deliveries/:delivery/cancel",
    "cancelDelivery",
    confirm("cancel", {
      title: english("Cancel this message?"),
      button: english("Cancel the message"),
      text: english("It will not be sent and cannot be queued again. Request a new message instead."),
    }),
    cancelAction,
  ),
  ...asks(
    "/console/o/:org/deliveries/:delivery/retry",
    "retryDelivery",
    confirm("retry", {
      title: english("Send this message again?"),
      button: english("Queue it again"),
      text: english(
        "It is queued again with a new set of attempts. It may arrive twice if the platform accepted an earlier attempt " +
          "but its response was lost.",
      ),
    }),
    retryAction,
  ),
])

/** All pages of deliveries and connections. */
export const layer = Layer.mergeAll(
  own,
  BulkPages.layer,
  ConnectionPages.layer,
  ReceiverPages.layer,
  MessageFrame.layer,
)
