import { call, commandGroup } from "./ApiCommand.ts"
import { eventTail } from "./EventTail.ts"
import { cursor, text, whole } from "./Flags.ts"
import { tableOf } from "./Table.ts"
import { eventColumns, eventStory } from "./TimelineCommands.ts"

/** `parlance event …` */
export const eventCommand = commandGroup("event", "List events of messages, such as opens and clicks", {
  list: call("listEvents", "List normalized events in the order of arrival", {
    tracking_id: text("tracking-id", "Only events of this decision"),
    cursor: cursor("after"),
    limit: whole("limit", "1 to 1,000", 50),
  }).text(({ events, next_cursor }, { limit }) =>
    events.length === 0 ? "No events" : [
      tableOf({ occurred: "occurred_at", source: "source", ...eventColumns }, events),
      ...(events.length < limit ? [] : ["", `More with --cursor ${next_cursor}`]),
    ].join("\n")
  ),
  tail: eventTail,
  story: eventStory,
})
