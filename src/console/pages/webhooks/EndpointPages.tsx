// deno-lint-ignore-file jsx-key -- rendered once, on the server
/** @jsxImportSource preact */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { EndpointInput } from "../../../api/endpoints/EndpointsApi.ts"
import type { Fault } from "../../../domain/Errors.ts"
import { decoder } from "../../../domain/Faults.ts"
import { type Endpoint, Endpoints, maxEndpoints, rotationHours } from "../../../webhooks/Endpoints.ts"
import { chosenTypes, eventSummaries } from "../../../webhooks/EventTypes.ts"
import { Card } from "../../components/Card.tsx"
import { Confirm } from "../../components/Confirm.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Choices, Field } from "../../components/Field.tsx"
import { Form, Submit } from "../../components/Form.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { PageHead } from "../../components/PageHead.tsx"
import { Table } from "../../components/Table.tsx"
import { Console, decoded, type Fields, type View, type Visit } from "../../Routes.tsx"
import { EndpointBadge, SentEvents } from "./EndpointViews.tsx"

// Servers that receive the events of an organization.

const decodeInput = decoder(EndpointInput)

const labels = { url: "URL", description: "Description", events: "Events" }

/** Events of a page. */
const shownEvents = 20

/** Services of these pages. */
interface Services {
  readonly endpoints: Endpoints["Service"]
}

const listPath = ({ org }: Visit) => `/console/o/${org.slug}/webhook-endpoints`
const pathOf = (visit: Visit, { id }: Pick<Endpoint, "id">) => `${listPath(visit)}/${encodeURIComponent(id)}`

const nameOf = ({ description, url }: Endpoint) => description === "" ? url : description

const existing = ({ endpoints }: Services, { org, params }: Visit) => endpoints.get(org.slug, params["endpoint"] ?? "")

const list = Effect.fnUntraced(function* ({ endpoints }: Services, visit: Visit) {
  const all = yield* endpoints.list(visit.org.slug)
  const create = visit.can("createWebhookEndpoint") && all.length < maxEndpoints
    ? <a class="button primary" href={`${listPath(visit)}/-/new`}>Add an endpoint</a>
    : null
  return {
    title: "Webhook endpoints",
    body: (
      <>
        <PageHead
          title="Webhook endpoints"
          lead="Servers of yours that Parlance tells of events, such as failed messages, unsubscribes and winners."
          actions={all.length === 0 ? undefined : create}
        />
        <Card kind="flush">
          {all.length === 0
            ? (
              <Empty title="No webhook endpoints yet" action={create}>
                {visit.can("createWebhookEndpoint")
                  ? "Add the URL of a server that receives events as signed requests."
                  : "An admin of the organization can add one."}
              </Empty>
            )
            : (
              <Table
                cards="labelled"
                caption="Webhook endpoints"
                headings={["Endpoint", "State", "Events", "[Actions]"]}
                rows={all.map((endpoint) => [
                  <>
                    <a href={pathOf(visit, endpoint)}>{nameOf(endpoint)}</a>
                    {endpoint.description === "" ? null : <span class="sub mono">{endpoint.url}</span>}
                  </>,
                  <EndpointBadge endpoint={endpoint} zone={visit.org.time_zone} />,
                  endpoint.events.length === 0 ? "all" : endpoint.events.join(", "),
                  {
                    kind: "actions",
                    content: (
                      <a
                        class="button compact"
                        href={pathOf(visit, endpoint)}
                        aria-label={`Open ${nameOf(endpoint)}`}
                      >
                        Open
                      </a>
                    ),
                  },
                ])}
              />
            )}
        </Card>
      </>
    ),
  }
})

/** A button that sends a form without fields. */
const Action = ({ children, csrf, kind = "plain", to }: {
  readonly to: string
  readonly csrf: string
  readonly kind?: "primary" | "plain"
  readonly children: string
}) => (
  <Form inline action={to} csrf={csrf}>
    <Submit kind={kind}>{children}</Submit>
  </Form>
)

const actionsOf = (visit: Visit, endpoint: Endpoint) => {
  const at = pathOf(visit, endpoint)
  const csrf = visit.session.csrfToken
  if (!visit.can("updateWebhookEndpoint")) return undefined
  return (
    <>
      {endpoint.enabled ? <Action to={`${at}/ping`} csrf={csrf} kind="primary">Send a test event</Action> : null}
      <a class="button" href={`${at}/edit`}>Edit</a>
      {endpoint.enabled
        ? <Action to={`${at}/disable`} csrf={csrf}>Disable</Action>
        : <Action to={`${at}/enable`} csrf={csrf} kind="primary">Enable</Action>}
      <a class="button" href={`${at}/rotate`}>Replace secret</a>
      <a class="button danger" href={`${at}/remove`}>Remove</a>
    </>
  )
}

const show = Effect.fnUntraced(function* (services: Services, visit: Visit) {
  const endpoint = yield* existing(services, visit)
  const before = visit.query.get("before") ?? undefined
  const found = yield* services.endpoints.messages(visit.org.slug, endpoint.id, { before, limit: shownEvents + 1 })
  const shown = found.slice(0, shownEvents)
  const at = pathOf(visit, endpoint)
  return {
    title: nameOf(endpoint),
    body: (
      <>
        <PageHead
          title={nameOf(endpoint)}
          lead={<span class="mono break">{endpoint.url}</span>}
          actions={actionsOf(visit, endpoint)}
        />
        {endpoint.enabled || endpoint.disabledReason === null ? null : (
          <Note kind="bad">
            Parlance has disabled this endpoint. {endpoint.disabledReason}{" "}
            Fix the server, then enable the endpoint. Replay the events that it missed.
          </Note>
        )}
        <Card>
          <dl class="facts">
            <dt>State</dt>
            <dd>
              <EndpointBadge endpoint={endpoint} zone={visit.org.time_zone} />
            </dd>
            <dt>Events</dt>
            <dd>{endpoint.events.length === 0 ? "all" : endpoint.events.join(", ")}</dd>
          </dl>
        </Card>
        <Card kind="flush">
          <SentEvents
            events={shown}
            zone={visit.org.time_zone}
            replay={visit.can("replayWebhookEvents")
              ? { action: `${at}/replay`, csrf: visit.session.csrfToken }
              : undefined}
          />
          {found.length > shown.length
            ? (
              <p class="notes small">
                <a href={`${at}?before=${encodeURIComponent(shown.at(-1)!.id)}`}>Earlier events</a>
              </p>
            )
            : null}
        </Card>
      </>
    ),
  }
})

/** The form of a new or a stored endpoint. */
const EndpointForm = ({ action, button, csrf, faults, values }: {
  readonly action: string
  readonly button: string
  readonly csrf: string
  readonly faults: ReadonlyArray<Fault>
  readonly values: Fields
}) => (
  <>
    <ErrorSummary faults={faults} labels={labels} />
    <Card>
      <Form action={action} csrf={csrf}>
        <Field
          name="url"
          label={labels.url}
          value={values["url"] ?? ""}
          faults={faults}
          hint="Where Parlance sends events, such as https://shop.example.com/parlance."
        />
        <Field
          name="description"
          label={labels.description}
          value={values["description"] ?? ""}
          required={false}
          faults={faults}
          hint="Purpose of the endpoint, such as “CRM, production”."
        />
        <Choices
          name="events"
          label={labels.events}
          type="checkbox"
          faults={faults}
          hint="None chosen: all events, also those that later releases add."
          values={(values["events"] ?? "").split("\n")}
          options={chosenTypes.map((type) => [type, type, `${eventSummaries[type]}.`] as const)}
        />
        <div>
          <Submit>{button}</Submit>
        </div>
      </Form>
    </Card>
  </>
)

const inputOf = (fields: Fields) =>
  decoded(decodeInput({
    url: (fields["url"] ?? "").trim(),
    description: (fields["description"] ?? "").trim(),
    events: (fields["events"] ?? "").split("\n").filter((type) => type !== ""),
  }))

const newPage = (visit: Visit, fields: Fields = {}, faults: ReadonlyArray<Fault> = []): Effect.Effect<View> =>
  Effect.succeed({
    title: "Add a webhook endpoint",
    body: (
      <>
        <PageHead title="Add a webhook endpoint" />
        <EndpointForm
          action={`${listPath(visit)}/-/new`}
          button="Add endpoint"
          csrf={visit.session.csrfToken}
          faults={faults}
          values={fields}
        />
      </>
    ),
  })

const editPage = Effect.fnUntraced(function* (
  services: Services,
  visit: Visit,
  fields?: Fields,
  faults: ReadonlyArray<Fault> = [],
) {
  const endpoint = yield* existing(services, visit)
  const { description, events, url } = endpoint
  return {
    title: `Edit ${nameOf(endpoint)}`,
    body: (
      <>
        <PageHead
          title={`Edit ${nameOf(endpoint)}`}
          back={{ href: pathOf(visit, endpoint), label: nameOf(endpoint) }}
        />
        <EndpointForm
          action={`${pathOf(visit, endpoint)}/edit`}
          button="Save"
          csrf={visit.session.csrfToken}
          faults={faults}
          values={fields ?? { url, description, events: events.join("\n") }}
        />
      </>
    ),
  }
})

/** The signing secret, shown once. */
const secretView = (visit: Visit, endpoint: Endpoint, secret: string): View => ({
  title: "Signing secret",
  body: (
    <>
      <PageHead title="Signing secret" back={{ href: pathOf(visit, endpoint), label: nameOf(endpoint) }} />
      <Note kind="warn">Copy it now: it is shown only once.</Note>
      <Card>
        <div class="stack">
          <div class="field">
            <label for="new-secret">Secret of {nameOf(endpoint)}</label>
            <div class="secret">
              <input
                type="text"
                id="new-secret"
                readonly
                value={secret}
                spellcheck={false}
                aria-describedby="new-secret-hint"
              />
              <button type="button" class="button primary" data-copy="new-secret" hidden>Copy</button>
            </div>
            <p class="hint" id="new-secret-hint">
              Your server checks the signature of each event with it. <span role="status" id="new-secret-status"></span>
            </p>
          </div>
          <div>
            <a class="button" href={pathOf(visit, endpoint)}>I have copied it</a>
          </div>
        </div>
      </Card>
    </>
  ),
})

/** A page that asks before a change. */
const confirmation = (
  services: Services,
  visit: Visit,
  words: {
    readonly path: string
    readonly title: (name: string) => string
    readonly button: string
    readonly text: string
  },
) =>
  Effect.map(existing(services, visit), (endpoint): View => {
    const at = pathOf(visit, endpoint)
    const title = words.title(nameOf(endpoint))
    return {
      title,
      body: (
        <>
          <PageHead title={title} back={{ href: at, label: nameOf(endpoint) }} />
          <Confirm action={`${at}/${words.path}`} csrf={visit.session.csrfToken} back={at} button={words.button}>
            <p>{words.text}</p>
          </Confirm>
        </>
      ),
    }
  })

const removing = {
  path: "remove",
  title: (name: string) => `Remove ${name}?`,
  button: "Remove the endpoint",
  text: "Events are no longer sent there, and those of the last 30 days are deleted. This cannot be undone.",
}

const rotating = {
  path: "rotate",
  title: (name: string) => `Replace the secret of ${name}?`,
  button: "Replace the secret",
  text:
    `For ${rotationHours} hours, events are signed by the new secret and by the present one. Give your server the new one ` +
    "within that time.",
}

/** Actions on an endpoint that lead back to its page. */
const makeActions = ({ endpoints }: Services) => {
  const on = (run: (visit: Visit, endpoint: Endpoint, fields: Fields) => Effect.Effect<string, unknown>) =>
    Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
      const endpoint = yield* existing({ endpoints }, visit)
      return { to: pathOf(visit, endpoint), done: yield* run(visit, endpoint, fields) }
    })
  return {
    ping: on(({ org }, { id }) => Effect.as(endpoints.ping(org.slug, id), "endpoint-tested")),
    enable: on(({ org }, { id }) => Effect.as(endpoints.update(org.slug, id, { enabled: true }), "endpoint-enabled")),
    disable: on(({ org }, { id }) =>
      Effect.as(endpoints.update(org.slug, id, { enabled: false }), "endpoint-disabled")
    ),
    replay: on(({ org }, { id }, fields) =>
      Effect.map(
        endpoints.replay(org.slug, id, { message: fields["event_id"] ?? "" }),
        (replayed) => replayed > 0 ? "event-replayed" : "event-not-replayed",
      )
    ),
  }
}

/** Webhook endpoints: list, form, events with their attempts. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { action, page } = yield* Console
  const services: Services = { endpoints: yield* Endpoints }
  const { endpoints } = services
  const { disable, enable, ping, replay } = makeActions(services)
  const base = "/console/o/:org/webhook-endpoints"

  yield* router.addAll([
    page(base, "listWebhookEndpoints", (visit) => list(services, visit)),
    page(`${base}/-/new`, "createWebhookEndpoint", (visit) => newPage(visit)),
    action(
      `${base}/-/new`,
      "createWebhookEndpoint",
      Effect.fnUntraced(function* (visit, fields) {
        const input = yield* inputOf(fields)
        const { endpoint, secret } = yield* endpoints.create(visit.org.slug, {
          description: "",
          events: [],
          ...input,
          enabled: true,
        })
        return secretView(visit, endpoint, secret)
      }),
      newPage,
    ),
    page(`${base}/:endpoint`, "getWebhookEndpoint", (visit) => show(services, visit)),
    page(`${base}/:endpoint/edit`, "updateWebhookEndpoint", (visit) => editPage(services, visit)),
    action(
      `${base}/:endpoint/edit`,
      "updateWebhookEndpoint",
      Effect.fnUntraced(function* (visit, fields) {
        const endpoint = yield* existing(services, visit)
        yield* endpoints.update(visit.org.slug, endpoint.id, yield* inputOf(fields))
        return { to: pathOf(visit, endpoint), done: "endpoint-saved" }
      }),
      (visit, fields, faults) => editPage(services, visit, fields, faults),
    ),
    action(`${base}/:endpoint/enable`, "updateWebhookEndpoint", enable),
    action(`${base}/:endpoint/disable`, "updateWebhookEndpoint", disable),
    action(`${base}/:endpoint/ping`, "pingWebhookEndpoint", ping),
    action(`${base}/:endpoint/replay`, "replayWebhookEvents", replay),
    page(`${base}/:endpoint/rotate`, "rotateWebhookSecret", (visit) => confirmation(services, visit, rotating)),
    action(
      `${base}/:endpoint/rotate`,
      "rotateWebhookSecret",
      Effect.fnUntraced(function* (visit) {
        const endpoint = yield* existing(services, visit)
        return secretView(visit, endpoint, yield* endpoints.rotate(visit.org.slug, endpoint.id))
      }),
    ),
    page(`${base}/:endpoint/remove`, "deleteWebhookEndpoint", (visit) => confirmation(services, visit, removing)),
    action(
      `${base}/:endpoint/remove`,
      "deleteWebhookEndpoint",
      Effect.fnUntraced(function* (visit) {
        yield* endpoints.remove(visit.org.slug, (yield* existing(services, visit)).id)
        return { to: listPath(visit), done: "endpoint-removed" }
      }),
    ),
  ])
}))
