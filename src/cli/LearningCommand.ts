import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { ManagementClient } from "./Connection.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

const stopped = Command.make(
  "stopped",
  {},
  Effect.fnUntraced(function* () {
    const client = yield* ManagementClient
    const result = yield* client.learning.listStoppedLearning({ params: { org: yield* organization } })
    const rows = result.stopped.map(({ reason, stopped_at, template_id }) => [template_id, stopped_at, reason])
    yield* print(
      result.stopped,
      rows.length === 0 ? "No template has stopped learning" : table(["template", "since", "reason"], rows),
    )
  }),
).pipe(Command.withDescription("List templates whose learning has stopped after three failed attempts"))

const resume = Command.make(
  "resume",
  { template: Argument.String("template").pipe(Argument.withDescription("The template's id")) },
  Effect.fnUntraced(function* ({ template }) {
    const client = yield* ManagementClient
    yield* client.learning.resumeLearning({ params: { org: yield* organization, template } })
    yield* print(
      { resumed: template },
      `Learning of ${template} is resumed. Check \`parlance learning stopped\` in a minute.`,
    )
  }),
).pipe(Command.withDescription("Resume the learning of a template"))

/** `parlance learning …` */
export const learningCommand = Command.make("learning").pipe(
  Command.withDescription("Templates whose learning has stopped"),
  Command.withSubcommands([stopped, resume]),
)
