import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type {
  EndpointInput,
  EndpointPatch,
  ReplayInput,
  SentEvent,
  WebhookEndpoint,
} from "../api/endpoints/EndpointsApi.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { bodyOf } from "./Inputs.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

const id = Argument.String("id").pipe(Argument.withDescription("Id of the webhook endpoint"))

const events = Flag.String("event").pipe(
  Flag.withDescription(
    "A type of event that the endpoint gets, such as delivery.failed. Repeat the option for several. Default: all",
  ),
  Flag.between(0, 50),
)

const description = Flag.String("description").pipe(Flag.withDescription("Purpose of the endpoint"), Flag.optional)

const stateOf = ({ disabled_reason, enabled, failing_since }: WebhookEndpoint) => {
  if (!enabled) return disabled_reason === null ? "disabled" : `disabled: ${disabled_reason}`
  return failing_since === null ? "enabled" : `failing since ${failing_since}`
}

const describe = (endpoints: ReadonlyArray<WebhookEndpoint>) =>
  table(
    ["id", "url", "events", "state", "description"],
    endpoints.map((one) => [
      one.id,
      one.url,
      one.events.length === 0 ? "all" : one.events.join(", "),
      stateOf(one),
      one.description,
    ]),
  )

const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const client = yield* ManagementClient
    const { endpoints } = yield* client.endpoints.listWebhookEndpoints({ params: { org: yield* organization } })
    yield* print(
      endpoints,
      endpoints.length === 0
        ? "No webhook endpoints. Add one with `parlance webhook-endpoint create URL`."
        : describe(endpoints),
    )
  }),
).pipe(Command.withDescription("List webhook endpoints with their state"))

const show = Command.make(
  "show",
  { id },
  Effect.fnUntraced(function* ({ id: endpoint }) {
    const client = yield* ManagementClient
    const found = yield* client.endpoints.getWebhookEndpoint({ params: { org: yield* organization, endpoint } })
    yield* print(found, describe([found]))
  }),
).pipe(Command.withDescription("Show a webhook endpoint"))

const secretText = (secret: string) => `Signing secret, shown only this once:\n${secret}`

const create = Command.make(
  "create",
  {
    url: Argument.String("url").pipe(
      Argument.withDescription("Where events are sent, such as https://example.com/hook"),
    ),
    description,
    events,
  },
  Effect.fnUntraced(function* ({ description, events, url }) {
    const client = yield* ManagementClient
    const payload = bodyOf<typeof EndpointInput.Type>({
      url,
      events,
      ...(Option.isSome(description) ? { description: description.value } : {}),
    })
    const made = yield* client.endpoints.createWebhookEndpoint({ params: { org: yield* organization }, payload })
    yield* print(made, `${describe([made])}\n\n${secretText(made.secret)}`)
  }),
).pipe(
  Command.withDescription("Add a webhook endpoint; its signing secret is shown once"),
  Command.withExamples([{
    command: "parlance webhook-endpoint create https://example.com/hook --event delivery.failed --event winner.found",
  }]),
)

const update = Command.make(
  "update",
  {
    id,
    url: Flag.String("url").pipe(Flag.withDescription("Where events are sent"), Flag.optional),
    description,
    events,
    allEvents: Flag.Boolean("all-events").pipe(
      Flag.withDescription("Send all types of events"),
      Flag.withDefault(false),
    ),
    enable: Flag.Boolean("enable").pipe(
      Flag.withDescription("Send events again, also after the service has disabled the endpoint"),
      Flag.withDefault(false),
    ),
    disable: Flag.Boolean("disable").pipe(Flag.withDescription("Send no events"), Flag.withDefault(false)),
  },
  Effect.fnUntraced(function* ({ allEvents, description, disable, enable, events, id: endpoint, url }) {
    if (enable && disable) return yield* new CommandFailed({ message: "Use either --enable or --disable." })
    if (allEvents && events.length > 0) {
      return yield* new CommandFailed({ message: "Use either --event or --all-events." })
    }
    const change = {
      ...(Option.isSome(url) ? { url: url.value } : {}),
      ...(Option.isSome(description) ? { description: description.value } : {}),
      ...(events.length > 0 || allEvents ? { events } : {}),
      ...(enable || disable ? { enabled: enable } : {}),
    }
    if (Object.keys(change).length === 0) {
      return yield* new CommandFailed({
        message: "Name a change: --url, --description, --event, --all-events, --enable or --disable.",
      })
    }
    const client = yield* ManagementClient
    const changed = yield* client.endpoints.updateWebhookEndpoint({
      params: { org: yield* organization, endpoint },
      payload: bodyOf<typeof EndpointPatch.Type>(change),
    })
    yield* print(changed, describe([changed]))
  }),
).pipe(Command.withDescription("Change, enable or disable a webhook endpoint"))

const remove = Command.make(
  "remove",
  { id },
  Effect.fnUntraced(function* ({ id: endpoint }) {
    const client = yield* ManagementClient
    yield* client.endpoints.deleteWebhookEndpoint({ params: { org: yield* organization, endpoint } })
    yield* print({ id: endpoint, removed: true }, `Removed ${endpoint} and its events`)
  }),
).pipe(Command.withDescription("Remove a webhook endpoint with its events"))

const rotate = Command.make(
  "rotate",
  { id },
  Effect.fnUntraced(function* ({ id: endpoint }) {
    const client = yield* ManagementClient
    const made = yield* client.endpoints.rotateWebhookSecret({ params: { org: yield* organization, endpoint } })
    yield* print(made, `${secretText(made.secret)}\n\nThe previous secret signs as well, for 24 hours.`)
  }),
).pipe(Command.withDescription("Replace the signing secret"))

const test = Command.make(
  "test",
  { id },
  Effect.fnUntraced(function* ({ id: endpoint }) {
    const client = yield* ManagementClient
    const made = yield* client.endpoints.pingWebhookEndpoint({ params: { org: yield* organization, endpoint } })
    yield* print(
      made,
      `The event ${made.event_id} (ping) is sent within seconds. ` +
        `\`parlance webhook-endpoint events ${endpoint}\` shows the response.`,
    )
  }),
).pipe(Command.withDescription("Send an event `ping`"))

/** A row for each attempt, and one for an event without attempts. */
const rowsOf = ({ attempts, created_at, id, next_attempt_at, state, type }: SentEvent) => {
  const about = [id, type, state === "pending" ? `pending until ${next_attempt_at}` : state]
  return attempts.length === 0
    ? [[...about, created_at, null, null, null]]
    : attempts.map(({ at, milliseconds, reason, status }) => [...about, at, status, milliseconds, reason])
}

const sent = Command.make(
  "events",
  {
    id,
    before: Flag.String("before").pipe(Flag.withDescription("The value that the previous page printed"), Flag.optional),
    limit: Flag.Int("limit").pipe(Flag.withDescription("1 to 100 events"), Flag.withDefault(25)),
  },
  Effect.fnUntraced(function* ({ before, id: endpoint, limit }) {
    const client = yield* ManagementClient
    const page = yield* client.endpoints.listWebhookEvents({
      params: { org: yield* organization, endpoint },
      query: { limit: String(limit), ...(Option.isSome(before) ? { before: before.value } : {}) },
    })
    yield* print(
      page,
      page.events.length === 0 ? "No events in the last 30 days" : [
        table(["event", "type", "state", "attempt at", "status", "ms", "response"], page.events.flatMap(rowsOf)),
        ...(page.next === null ? [] : ["", `More with --before ${page.next}`]),
      ].join("\n"),
    )
  }),
).pipe(Command.withDescription("List the events of an endpoint with their attempts, newest first"))

const replay = Command.make(
  "replay",
  {
    id,
    eventId: Flag.String("event-id").pipe(Flag.withDescription("One event"), Flag.optional),
    since: Flag.String("since").pipe(
      Flag.withDescription("All events since this time, such as 2026-05-04T09:30:00Z"),
      Flag.optional,
    ),
  },
  Effect.fnUntraced(function* ({ eventId, id: endpoint, since }) {
    if (Option.isSome(eventId) === Option.isSome(since)) {
      return yield* new CommandFailed({ message: "Select the events with either --event-id or --since." })
    }
    const client = yield* ManagementClient
    const result = yield* client.endpoints.replayWebhookEvents({
      params: { org: yield* organization, endpoint },
      payload: bodyOf<typeof ReplayInput.Type>({
        ...(Option.isSome(eventId) ? { event_id: eventId.value } : {}),
        ...(Option.isSome(since) ? { since: since.value } : {}),
      }),
    })
    yield* print(
      result,
      result.replayed === 0
        ? "No event was sent again. Events that wait for an attempt are not repeated."
        : `${result.replayed} events are sent again, with the same ids`,
    )
  }),
).pipe(Command.withDescription("Send events again: one, or all since a time"))

/** `parlance webhook-endpoint …` */
export const webhookEndpointCommand = Command.make("webhook-endpoint").pipe(
  Command.withDescription("Servers that are told of events, such as failed deliveries"),
  Command.withSubcommands([list, show, create, update, remove, rotate, sent, replay, test]),
)
