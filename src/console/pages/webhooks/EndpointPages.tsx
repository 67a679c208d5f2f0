import { Effect } from "effect"
import type { OrgSlug } from "../../../domain/Ids.ts"
import { EndpointInput } from "../../../api/endpoints/EndpointsApi.ts"
import type { Fault } from "../../../domain/Errors.ts"
import {
  maxEndpoints,
  rotationHours,
  type StoredEndpoint,
  WebhookEndpoints,
} from "../../../webhooks/WebhookEndpoints.ts"
import { batchedTypes, batchTypes } from "../../../webhooks/BatchTypes.ts"
import { eventSummaries, singleTypes } from "../../../webhooks/EventTypes.ts"
import { pageOf } from "../../../api/http/Paging.ts"
import { english, t } from "../../../languages/Language.ts"
import { Card } from "../../components/Card.tsx"
import { Facts } from "../../components/Facts.tsx"
import { askFirst } from "../../components/AskFirst.tsx"
import { MenuLink, MenuPost, RowMenu } from "../../components/RowMenu.tsx"
import { SecretOnce } from "../../components/SecretOnce.tsx"
import { Empty } from "../../components/Empty.tsx"
import { PostButton } from "../../components/Form.tsx"
import { Note } from "../../components/Note.tsx"
import { inputForm } from "../../components/InputForm.tsx"
import { Table } from "../../components/Table.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Fields, View, Visit } from "../../Routes.tsx"
import { EndpointBadge, SentEvents } from "./EndpointViews.tsx"

// Servers that receive the events of an organization.

const endpointForm = inputForm(EndpointInput, {
  url: {
    label: english("URL"),
    hint: english("Where Parlance sends events, such as https://shop.example.com/parlance."),
  },
  description: {
    label: english("Description"),
    required: false,
    hint: english("Purpose of the endpoint, such as “CRM, production”."),
  },
  events: {
    label: english("Events"),
    as: "checkboxes",
    hint: english(
      "None chosen: all single events, also events that later releases add. Batches are sent only if chosen.",
    ),
    options: [
      ...singleTypes.map((type) => [type, type, eventSummaries[type]] as const),
      ...batchedTypes.map((type) => [type, type, batchTypes[type].summary] as const),
    ],
  },
})

/** Events of a page. */
const shownEvents = 20

const listPath = ({ org }: Visit) => `/console/o/${org.slug}/webhook-endpoints`
const pathOf = (visit: Visit, { id }: Pick<StoredEndpoint, "id">) => `${listPath(visit)}/${encodeURIComponent(id)}`

const nameOf = ({ description, url }: StoredEndpoint) => description === "" ? url : description

const chosenText = ({ events }: StoredEndpoint) => events.length === 0 ? t`all single events` : events.join(", ")

const backTo = (visit: Visit, endpoint: StoredEndpoint) => ({ href: pathOf(visit, endpoint), label: nameOf(endpoint) })

const existing = ({ org, params }: Visit) =>
  WebhookEndpoints.use((endpoints) => endpoints.get(org.slug, params["endpoint"] ?? ""))

const EndpointMenu = ({ endpoint, visit }: { readonly endpoint: StoredEndpoint; readonly visit: Visit }) => {
  const at = pathOf(visit, endpoint)
  return (
    <RowMenu label={t`Actions for ${nameOf(endpoint)}`}>
      <MenuLink href={at}>{t`Open`}</MenuLink>
      {visit.can("updateWebhookEndpoint") && (
        <>
          <MenuLink href={`${at}/edit`}>{t`Edit`}</MenuLink>
          {endpoint.enabled && <MenuPost to={`${at}/ping`}>{t`Send a test event`}</MenuPost>}
          {endpoint.enabled
            ? <MenuPost to={`${at}/disable`}>{t`Disable`}</MenuPost>
            : <MenuPost to={`${at}/enable`}>{t`Enable`}</MenuPost>}
          <MenuLink href={`${listPath(visit)}/-/new?from=${encodeURIComponent(endpoint.id)}`}>{t`Duplicate`}</MenuLink>
          <MenuLink href={`${at}/rotate`}>{t`Replace secret`}</MenuLink>
          <MenuLink href={`${at}/remove`} danger>{t`Delete`}</MenuLink>
        </>
      )}
    </RowMenu>
  )
}

const list = Effect.fnUntraced(function* (visit: Visit) {
  const endpoints = yield* WebhookEndpoints
  const all = yield* endpoints.list(visit.org.slug)
  const create = visit.can("createWebhookEndpoint") && all.length < maxEndpoints
    ? <a class="button primary" href={`${listPath(visit)}/-/new`}>{t`Add an endpoint`}</a>
    : null
  return view(
    {
      title: t`Webhook endpoints`,
      lead: t`Your servers that receive events from Parlance, such as failed messages, unsubscribes and winners.`,
      actions: all.length === 0 ? undefined : create,
    },
    <Card kind="flush">
      {all.length === 0
        ? (
          <Empty title={t`No webhook endpoints yet`} action={create}>
            {visit.can("createWebhookEndpoint")
              ? t`Add the URL of a server that receives events as signed requests.`
              : t`An admin of the organization can add one.`}
          </Empty>
        )
        : (
          <Table
            cards="labelled"
            caption={t`Webhook endpoints`}
            headings={[t`Endpoint`, t`State`, t`Events`, t`[Actions]`]}
            rows={all.map((endpoint) => [
              <>
                <a href={pathOf(visit, endpoint)}>{nameOf(endpoint)}</a>
                {endpoint.description !== "" && <span class="sub mono">{endpoint.url}</span>}
              </>,
              <EndpointBadge endpoint={endpoint} zone={visit.org.time_zone} />,
              chosenText(endpoint),
              {
                kind: "actions",
                content: <EndpointMenu endpoint={endpoint} visit={visit} />,
              },
            ])}
          />
        )}
    </Card>,
  )
})

const actionsOf = (visit: Visit, endpoint: StoredEndpoint) => {
  const at = pathOf(visit, endpoint)
  if (!visit.can("updateWebhookEndpoint")) return undefined
  return (
    <>
      {endpoint.enabled && <PostButton to={`${at}/ping`} kind="primary">{t`Send a test event`}</PostButton>}
      <a class="button" href={`${at}/edit`}>{t`Edit`}</a>
      {endpoint.enabled
        ? <PostButton to={`${at}/disable`}>{t`Disable`}</PostButton>
        : <PostButton to={`${at}/enable`} kind="primary">{t`Enable`}</PostButton>}
      <a class="button" href={`${at}/rotate`}>{t`Replace secret`}</a>
      <a class="button danger" href={`${at}/remove`}>{t`Delete`}</a>
    </>
  )
}

const show = Effect.fnUntraced(function* (visit: Visit) {
  const endpoint = yield* existing(visit)
  const before = visit.query.get("before") ?? undefined
  const endpoints = yield* WebhookEndpoints
  const { next, page } = yield* pageOf(
    shownEvents,
    (limit) => endpoints.messages(visit.org.slug, endpoint.id, { before, limit }),
  )
  const at = pathOf(visit, endpoint)
  return view(
    {
      title: nameOf(endpoint),
      lead: <span class="mono break">{endpoint.url}</span>,
      actions: actionsOf(visit, endpoint),
    },
    !endpoint.enabled && endpoint.disabledReason !== null && (
      <Note kind="bad">
        {t`Parlance has disabled this endpoint. ${endpoint.disabledReason} Fix the server, then enable the endpoint. Replay
          the events that it missed.`}
      </Note>
    ),
    <Card>
      <Facts
        rows={[
          [t`State`, <EndpointBadge endpoint={endpoint} zone={visit.org.time_zone} />],
          [t`Events`, chosenText(endpoint)],
        ]}
      />
    </Card>,
    <Card kind="flush">
      <SentEvents
        events={page}
        zone={visit.org.time_zone}
        replay={visit.can("replayWebhookEvents") ? `${at}/replay` : undefined}
      />
      {next !== null && (
        <p class="notes small">
          <a href={`${at}?before=${encodeURIComponent(next)}`}>{t`Earlier events`}</a>
        </p>
      )}
    </Card>,
  )
})

const valuesOf = ({ description, events, url }: StoredEndpoint): Fields => ({
  url,
  description,
  events: events.join("\n"),
})

const newPage = Effect.fnUntraced(function* (visit: Visit, fields?: Fields, faults: ReadonlyArray<Fault> = []) {
  const from = visit.query.get("from")
  const like = from === null ? undefined : yield* (yield* WebhookEndpoints).get(visit.org.slug, from)
  return view(
    { title: t`Add a webhook endpoint` },
    <endpointForm.Card
      action={`${listPath(visit)}/-/new`}
      submit={t`Add endpoint`}
      faults={faults}
      values={fields ?? (like === undefined ? undefined : valuesOf(like))}
    />,
  )
})

const editPage = Effect.fnUntraced(function* (
  visit: Visit,
  fields?: Fields,
  faults: ReadonlyArray<Fault> = [],
) {
  const endpoint = yield* existing(visit)
  return view(
    { title: t`Edit ${nameOf(endpoint)}`, back: backTo(visit, endpoint) },
    <endpointForm.Card
      action={`${pathOf(visit, endpoint)}/edit`}
      submit={t`Save`}
      faults={faults}
      values={fields ?? valuesOf(endpoint)}
    />,
  )
})

/** The signing secret, shown once. */
const secretView = (visit: Visit, endpoint: StoredEndpoint, secret: string): View =>
  view(
    { title: t`Signing secret`, back: backTo(visit, endpoint) },
    <Note kind="warn">{t`Copy it now: it is shown only once.`}</Note>,
    <SecretOnce
      id="new-secret"
      label={t`Secret of ${nameOf(endpoint)}`}
      value={secret}
      hint={t`Your server checks the signature of each event with it.`}
      done={pathOf(visit, endpoint)}
    />,
  )

const askRemove = (visit: Visit) =>
  Effect.map(existing(visit), (endpoint) =>
    askFirst({
      question: t`Delete ${nameOf(endpoint)}?`,
      back: backTo(visit, endpoint),
      button: t`Delete the endpoint`,
      text: (
        <p>
          {t`Events are no longer sent there, and the events of the last 30 days are deleted. This cannot be
            undone.`}
        </p>
      ),
    }))

const askRotate = (visit: Visit) =>
  Effect.map(existing(visit), (endpoint) =>
    askFirst({
      question: t`Replace the secret of ${nameOf(endpoint)}?`,
      back: backTo(visit, endpoint),
      button: t`Replace the secret`,
      text: (
        <p>
          {t`For ${rotationHours} hours, events are signed by the new secret and by the present one. Give your server
            the new one within that time.`}
        </p>
      ),
    }))

/** An action on an endpoint that leads back to its page. `run` returns the message that is shown there. */
const acting = (
  run: (
    endpoints: WebhookEndpoints["Service"],
    org: OrgSlug,
    id: string,
    fields: Fields,
  ) => Effect.Effect<string, unknown>,
) =>
  Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
    const endpoint = yield* existing(visit)
    return {
      to: pathOf(visit, endpoint),
      done: yield* run(yield* WebhookEndpoints, visit.org.slug, endpoint.id, fields),
    }
  })

const switched = (enabled: boolean) =>
  Effect.fnUntraced(function* (visit: Visit) {
    const endpoint = yield* existing(visit)
    yield* (yield* WebhookEndpoints).update(visit.org.slug, endpoint.id, { enabled })
    const to = pathOf(visit, endpoint)
    const [done, reverse] = enabled ? ["endpoint-enabled", "disable"] : ["endpoint-disabled", "enable"]
    return { to, done, undo: { to: `${to}/${reverse}` } }
  })

const ping = acting((endpoints, org, id) => Effect.as(endpoints.ping(org, id), "endpoint-tested"))

const replay = acting((endpoints, org, id, { event_id: message = "" }) =>
  Effect.map(
    endpoints.replay(org, id, { message }),
    (replayed) => replayed > 0 ? "event-replayed" : "event-not-replayed",
  )
)

const create = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const input = yield* endpointForm.decode(fields)
  const { endpoint, secret } = yield* (yield* WebhookEndpoints).create(visit.org.slug, {
    description: "",
    events: [],
    ...input,
    enabled: true,
  })
  return secretView(visit, endpoint, secret)
})

const save = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const endpoint = yield* existing(visit)
  yield* (yield* WebhookEndpoints).update(visit.org.slug, endpoint.id, yield* endpointForm.decode(fields))
  return { to: pathOf(visit, endpoint), done: "endpoint-saved" }
})

const rotate = Effect.fnUntraced(function* (visit: Visit) {
  const endpoint = yield* existing(visit)
  return secretView(visit, endpoint, yield* (yield* WebhookEndpoints).rotate(visit.org.slug, endpoint.id))
})

const remove = Effect.fnUntraced(function* (visit: Visit) {
  yield* (yield* WebhookEndpoints).remove(visit.org.slug, (yield* existing(visit)).id)
  return { to: listPath(visit), done: "endpoint-removed" }
})

/** Webhook endpoints: list, form, events with their attempts. */
export const layer = pages(({ action, asks, form, page }) => {
  const base = "/console/o/:org/webhook-endpoints"
  return [
    page(base, "listWebhookEndpoints", list),
    ...form(`${base}/-/new`, "createWebhookEndpoint", newPage, create),
    page(`${base}/:endpoint`, "getWebhookEndpoint", show),
    ...form(`${base}/:endpoint/edit`, "updateWebhookEndpoint", editPage, save),
    action(`${base}/:endpoint/enable`, "updateWebhookEndpoint", switched(true)),
    action(`${base}/:endpoint/disable`, "updateWebhookEndpoint", switched(false)),
    action(`${base}/:endpoint/ping`, "pingWebhookEndpoint", ping),
    action(`${base}/:endpoint/replay`, "replayWebhookEvents", replay),
    ...asks(`${base}/:endpoint/rotate`, "rotateWebhookSecret", askRotate, rotate),
    ...asks(`${base}/:endpoint/remove`, "deleteWebhookEndpoint", askRemove, remove),
  ]
})
