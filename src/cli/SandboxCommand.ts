import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { ManagementClient } from "./Connection.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const client = yield* ManagementClient
    const { messages } = yield* client.sandbox.listSinkMessages({ params: { org: yield* organization } })
    yield* print(
      messages,
      messages.length === 0 ? "No messages" : table(
        ["id", "received", "kind", "to", "template", "variant", "subject"],
        messages.map((one) => [
          one.id,
          one.received_at,
          one.test ? "test" : "live",
          one.email,
          one.template_id,
          one.copy_id,
          one.subject ?? one.fault,
        ]),
      ),
    )
  }),
).pipe(Command.withDescription("List sandbox messages, newest first"))

const show = Command.make(
  "show",
  { id: Argument.String("id").pipe(Argument.withDescription("The id of the delivery")) },
  Effect.fnUntraced(function* ({ id }) {
    const client = yield* ManagementClient
    const message = yield* client.sandbox.getSinkMessage({ params: { org: yield* organization, message: id } })
    const headers = message.headers.map(({ name, value }) => `${name}: ${value}`)
    const fault = message.fault === null ? [] : [message.fault, ""]
    yield* print(message, [...fault, ...headers, "", message.text ?? JSON.stringify(message.vars, null, 2)].join("\n"))
  }),
).pipe(Command.withDescription("Show the headers and the plain text of a message; with --json, all of it"))

const clear = Command.make(
  "clear",
  {},
  Effect.fnUntraced(function* () {
    const client = yield* ManagementClient
    const { removed } = yield* client.sandbox.clearSinkMessages({ params: { org: yield* organization } })
    yield* print({ removed }, `Removed ${removed} messages`)
  }),
).pipe(Command.withDescription("Remove all sandbox messages"))

/** `parlance sandbox …` */
export const sandboxCommand = Command.make("sandbox").pipe(
  Command.withDescription("Messages that were not sent: from test keys, and through sink connections"),
  Command.withSubcommands([list, show, clear]),
)
