import { Flag } from "effect/cli"
import type { SentEvent, WebhookEndpoint } from "../api/endpoints/EndpointsApi.ts"
import { call, callWith, commandGroup } from "./ApiCommand.ts"
import { CommandFailed } from "./Connection.ts"
import { argument, cursor, orAbsent, text, toggle, whole } from "./Flags.ts"
import { table, type TableColumns, tableOf } from "./Table.ts"

const endpoint = argument("id", "Id of the webhook endpoint")

const events = Flag.String("event").pipe(
  Flag.withDescription(
    "A type of event that the endpoint gets, such as delivery.failed. Repeat the option for several. Default: all " +
      "single events, without those that come in batches, such as message.clicked",
  ),
  Flag.between(0, 50),
  Flag.map(orAbsent),
)

const description = text("description", "Purpose of the endpoint")

const stateOf = ({ disabled_reason, enabled, failing_since }: WebhookEndpoint) => {
  if (!enabled) return disabled_reason === null ? "disabled" : `disabled: ${disabled_reason}`
  return failing_since === null ? "enabled" : `failing since ${failing_since}`
}

const columns: TableColumns<WebhookEndpoint> = {
  id: "id",
  url: "url",
  events: ({ events }) => events.length === 0 ? "all single events" : events.join(", "),
  state: stateOf,
  description: "description",
}

const secretText = (secret: string) => `Signing secret, shown only this once:\n${secret}`

const refused = (message: string) => new CommandFailed({ message })

/** The rows of an event: one for each attempt, or one row without an attempt. */
const rowsOf = ({ attempts, created_at, event_count, id, next_attempt_at, state, type }: SentEvent) => {
  const about = [
    id,
    event_count === null ? type : `${type} (${event_count})`,
    state === "pending" ? `pending until ${next_attempt_at}` : state,
  ]
  return attempts.length === 0
    ? [[...about, created_at, null, null, null]]
    : attempts.map(({ at, milliseconds, reason, status }) => [...about, at, status, milliseconds, reason])
}

/** `parlance webhook-endpoint …` */
export const webhookEndpointCommand = commandGroup(
  "webhook-endpoint",
  "Servers that receive events, such as failed deliveries",
  {
    list: call("listWebhookEndpoints", "List webhook endpoints with their state")
      .result(({ endpoints }) => endpoints)
      .table(columns, "No webhook endpoints. Add one with `parlance webhook-endpoint create URL`."),

    show: call("getWebhookEndpoint", "Show a webhook endpoint", { endpoint }).table(columns),

    create: call("createWebhookEndpoint", "Add a webhook endpoint; its signing secret is shown once", {
      url: argument("url", "Where events are sent, such as https://example.com/hook"),
      description,
      events,
    }).examples(
      "parlance webhook-endpoint create https://example.com/hook --event delivery.failed --event winner.found",
    ).text((made) => `${tableOf(columns, [made])}\n\n${secretText(made.secret)}`),

    update: callWith("updateWebhookEndpoint", "Change, enable or disable a webhook endpoint", {
      endpoint,
      url: text("url", "Where events are sent"),
      description,
      events,
      allEvents: toggle("all-events", "Send all types of single events"),
      enable: toggle("enable", "Send events again, also after the service has disabled the endpoint"),
      disable: toggle("disable", "Send no events"),
    }, ({ allEvents, description, disable, enable, endpoint, events, url }) => {
      if (enable && disable) return refused("Use either --enable or --disable.")
      if (allEvents && events !== undefined) return refused("Use either --event or --all-events.")
      const enabled = enable || disable ? enable : undefined
      const change = { url, description, events: allEvents ? [] : events, enabled }
      return Object.values(change).some((value) => value !== undefined)
        ? { endpoint, ...change }
        : refused("Name a change: --url, --description, --event, --all-events, --enable or --disable.")
    }).table(columns),

    remove: call("deleteWebhookEndpoint", "Remove a webhook endpoint with its events", { endpoint })
      .result((_, { endpoint }) => ({ id: endpoint, removed: true }))
      .text(({ id }) => `Removed ${id} and its events`),

    rotate: call("rotateWebhookSecret", "Replace the signing secret", { endpoint })
      .text(({ secret }) => `${secretText(secret)}\n\nThe previous secret signs as well, for 24 hours.`),

    events: call("listWebhookEvents", "List the events of an endpoint with their attempts, newest first", {
      endpoint,
      cursor: cursor("before"),
      limit: whole("limit", "1 to 100 events", 25),
    }).text(({ events, next_cursor }) =>
      events.length === 0 ? "No events in the last 30 days" : [
        table(["event", "type", "state", "attempt at", "status", "ms", "response"], events.flatMap(rowsOf)),
        ...(next_cursor === null ? [] : ["", `More with --cursor ${next_cursor}`]),
      ].join("\n")
    ),

    replay: call("replayWebhookEvents", "Send events again: one, or all since a time", {
      endpoint,
      event_id: text("event-id", "One event"),
      since: text("since", "All events since this time, such as 2026-05-04T09:30:00Z"),
    }).sends((values) =>
      (values.event_id === undefined) === (values.since === undefined)
        ? refused("Select the events with either --event-id or --since.")
        : values
    ).text(({ replayed }) =>
      replayed === 0
        ? "No event was sent again. Events that wait for an attempt are not repeated."
        : `${replayed} events are sent again, with the same ids`
    ),

    test: call("pingWebhookEndpoint", "Send an event `ping`", { endpoint }).text(({ event_id }, { endpoint }) =>
      `The event ${event_id} (ping) is sent within seconds. ` +
      `\`parlance webhook-endpoint events ${endpoint}\` shows the response.`
    ),
  },
)
