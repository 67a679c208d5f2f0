import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { ManagementClient } from "./Connection.ts"
import { eventTail } from "./EventTail.ts"
import { organization, print } from "./Root.ts"
import { eventStory } from "./TimelineCommands.ts"
import { table } from "./Table.ts"

const list = Command.make(
  "list",
  {
    trackingId: Flag.String("tracking-id").pipe(Flag.withDescription("Only events of this decision"), Flag.optional),
    after: Flag.String("after").pipe(Flag.withDescription("The value that the previous page printed"), Flag.optional),
    limit: Flag.Int("limit").pipe(Flag.withDescription("1 to 1,000"), Flag.withDefault(50)),
  },
  Effect.fnUntraced(function* ({ after: cursor, limit, trackingId }) {
    const client = yield* ManagementClient
    const page = yield* client.sources.listEvents({
      params: { org: yield* organization },
      query: {
        limit: String(limit),
        ...(Option.isSome(cursor) ? { after: cursor.value } : {}),
        ...(Option.isSome(trackingId) ? { tracking_id: trackingId.value } : {}),
      },
    })
    const rows = page.events.map((event) => [
      event.occurred_at,
      event.source,
      event.event,
      event.automated,
      event.tracking_id,
      event.user,
      event.template_id,
      event.copy_id,
      event.status,
    ])
    yield* print(
      page,
      rows.length === 0 ? "No events" : [
        table(["occurred", "source", "event", "machine", "tracking id", "user", "template", "variant", "status"], rows),
        ...(page.events.length < limit ? [] : ["", `More with --after ${page.next}`]),
      ].join("\n"),
    )
  }),
).pipe(Command.withDescription("List normalized events in the order of arrival"))

/** `parlance event …` */
export const eventCommand = Command.make("event").pipe(
  Command.withDescription("List events of messages, such as opens and clicks"),
  Command.withSubcommands([list, eventTail, eventStory]),
)
