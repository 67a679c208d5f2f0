import { Command } from "effect/cli"
import { eventTail } from "./EventTail.ts"
import { given, text, whole } from "./Flags.ts"
import { organizationCommand } from "./ManagementCommand.ts"
import { eventStory } from "./TimelineCommands.ts"
import { tableOf } from "./Table.ts"

const list = organizationCommand({
  name: "list",
  description: "List normalized events in the order of arrival",
  flags: {
    trackingId: text("tracking-id", "Only events of this decision"),
    after: text("after", "The value that the previous page printed"),
    limit: whole("limit", "1 to 1,000", 50),
  },
  call: (client, { after, limit, org, trackingId }) =>
    client.sources.listEvents({
      params: { org },
      query: { limit: String(limit), ...given({ after, tracking_id: trackingId }) },
    }),
}).text(({ events, next }, { limit }) =>
  events.length === 0 ? "No events" : [
    tableOf({
      occurred: "occurred_at",
      source: "source",
      event: "event",
      machine: "automated",
      "tracking id": "tracking_id",
      user: "user",
      template: "template_id",
      variant: "copy_id",
      status: "status",
    }, events),
    ...(events.length < limit ? [] : ["", `More with --after ${next}`]),
  ].join("\n")
)

/** `parlance event …` */
export const eventCommand = Command.make("event").pipe(
  Command.withDescription("List events of messages, such as opens and clicks"),
  Command.withSubcommands([list, eventTail, eventStory]),
)
