import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import type {
  EndpointInput,
  EndpointPatch,
  ReplayInput,
  SentEvent,
  WebhookEndpoint,
} from "../api/endpoints/EndpointsApi.ts"
import { CommandFailed } from "./Connection.ts"
import { argument, given, text, toggle, whole } from "./Flags.ts"
import { bodyOf } from "./Inputs.ts"
import { organizationCommand } from "./ManagementCommand.ts"
import { table, type TableColumns, tableOf } from "./Table.ts"

const id = argument("id", "Id of the webhook endpoint")

const events = Flag.String("event").pipe(
  Flag.withDescription(
    "A type of event that the endpoint gets, such as delivery.failed. Repeat the option for several. Default: all",
  ),
  Flag.between(0, 50),
)

const description = text("description", "Purpose of the endpoint")

const stateOf = ({ disabled_reason, enabled, failing_since }: WebhookEndpoint) => {
  if (!enabled) return disabled_reason === null ? "disabled" : `disabled: ${disabled_reason}`
  return failing_since === null ? "enabled" : `failing since ${failing_since}`
}

const columns: TableColumns<WebhookEndpoint> = {
  id: "id",
  url: "url",
  events: ({ events }) => events.length === 0 ? "all" : events.join(", "),
  state: stateOf,
  description: "description",
}

const list = organizationCommand({
  name: "list",
  description: "List webhook endpoints with their state",
  call: (client, { org }) => client.endpoints.listWebhookEndpoints({ params: { org } }),
  result: ({ endpoints }) => endpoints,
}).table(columns, "No webhook endpoints. Add one with `parlance webhook-endpoint create URL`.")

const show = organizationCommand({
  name: "show",
  description: "Show a webhook endpoint",
  flags: { id },
  call: (client, { id, org }) => client.endpoints.getWebhookEndpoint({ params: { org, endpoint: id } }),
}).table(columns)

const secretText = (secret: string) => `Signing secret, shown only this once:\n${secret}`

const create = organizationCommand({
  name: "create",
  description: "Add a webhook endpoint; its signing secret is shown once",
  examples: [
    "parlance webhook-endpoint create https://example.com/hook --event delivery.failed --event winner.found",
  ],
  flags: {
    url: argument("url", "Where events are sent, such as https://example.com/hook"),
    description,
    events,
  },
  call: (client, { description, events, org, url }) =>
    client.endpoints.createWebhookEndpoint({
      params: { org },
      payload: bodyOf<typeof EndpointInput.Type>({ url, events, ...given({ description }) }),
    }),
}).text((made) => `${tableOf(columns, [made])}\n\n${secretText(made.secret)}`)

const update = organizationCommand({
  name: "update",
  description: "Change, enable or disable a webhook endpoint",
  flags: {
    id,
    url: text("url", "Where events are sent"),
    description,
    events,
    allEvents: toggle("all-events", "Send all types of events"),
    enable: toggle("enable", "Send events again, also after the service has disabled the endpoint"),
    disable: toggle("disable", "Send no events"),
  },
  payload: ({ allEvents, description, disable, enable, events, url }) => {
    if (enable && disable) return new CommandFailed({ message: "Use either --enable or --disable." })
    if (allEvents && events.length > 0) return new CommandFailed({ message: "Use either --event or --all-events." })
    const change = {
      ...given({ url, description }),
      ...(events.length > 0 || allEvents ? { events } : {}),
      ...(enable || disable ? { enabled: enable } : {}),
    }
    return Object.keys(change).length > 0
      ? Effect.succeed(bodyOf<typeof EndpointPatch.Type>(change))
      : new CommandFailed({
        message: "Name a change: --url, --description, --event, --all-events, --enable or --disable.",
      })
  },
  call: (client, { id, org, payload }) =>
    client.endpoints.updateWebhookEndpoint({ params: { org, endpoint: id }, payload }),
}).table(columns)

const remove = organizationCommand({
  name: "remove",
  description: "Remove a webhook endpoint with its events",
  flags: { id },
  call: (client, { id, org }) => client.endpoints.deleteWebhookEndpoint({ params: { org, endpoint: id } }),
  result: (_, { id }) => ({ id, removed: true }),
}).text(({ id }) => `Removed ${id} and its events`)

const rotate = organizationCommand({
  name: "rotate",
  description: "Replace the signing secret",
  flags: { id },
  call: (client, { id, org }) => client.endpoints.rotateWebhookSecret({ params: { org, endpoint: id } }),
}).text(({ secret }) => `${secretText(secret)}\n\nThe previous secret signs as well, for 24 hours.`)

const test = organizationCommand({
  name: "test",
  description: "Send an event `ping`",
  flags: { id },
  call: (client, { id, org }) => client.endpoints.pingWebhookEndpoint({ params: { org, endpoint: id } }),
}).text(({ event_id }, { id }) =>
  `The event ${event_id} (ping) is sent within seconds. ` +
  `\`parlance webhook-endpoint events ${id}\` shows the response.`
)

/** The rows of an event: one for each attempt, or one row without an attempt. */
const rowsOf = ({ attempts, created_at, id, next_attempt_at, state, type }: SentEvent) => {
  const about = [id, type, state === "pending" ? `pending until ${next_attempt_at}` : state]
  return attempts.length === 0
    ? [[...about, created_at, null, null, null]]
    : attempts.map(({ at, milliseconds, reason, status }) => [...about, at, status, milliseconds, reason])
}

const sent = organizationCommand({
  name: "events",
  description: "List the events of an endpoint with their attempts, newest first",
  flags: {
    id,
    before: text("before", "The value that the previous page printed"),
    limit: whole("limit", "1 to 100 events", 25),
  },
  call: (client, { before, id, limit, org }) =>
    client.endpoints.listWebhookEvents({
      params: { org, endpoint: id },
      query: { limit: String(limit), ...given({ before }) },
    }),
}).text(({ events, next }) =>
  events.length === 0 ? "No events in the last 30 days" : [
    table(["event", "type", "state", "attempt at", "status", "ms", "response"], events.flatMap(rowsOf)),
    ...(next === null ? [] : ["", `More with --before ${next}`]),
  ].join("\n")
)

const replay = organizationCommand({
  name: "replay",
  description: "Send events again: one, or all since a time",
  flags: {
    id,
    eventId: text("event-id", "One event"),
    since: text("since", "All events since this time, such as 2026-05-04T09:30:00Z"),
  },
  payload: ({ eventId, since }) =>
    Option.isSome(eventId) === Option.isSome(since)
      ? new CommandFailed({ message: "Select the events with either --event-id or --since." })
      : Effect.succeed(bodyOf<typeof ReplayInput.Type>(given({ event_id: eventId, since }))),
  call: (client, { id, org, payload }) =>
    client.endpoints.replayWebhookEvents({ params: { org, endpoint: id }, payload }),
}).text(({ replayed }) =>
  replayed === 0
    ? "No event was sent again. Events that wait for an attempt are not repeated."
    : `${replayed} events are sent again, with the same ids`
)

/** `parlance webhook-endpoint …` */
export const webhookEndpointCommand = Command.make("webhook-endpoint").pipe(
  Command.withDescription("Servers that receive events, such as failed deliveries"),
  Command.withSubcommands([list, show, create, update, remove, rotate, sent, replay, test]),
)
