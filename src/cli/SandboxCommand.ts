import { Command } from "effect/cli"
import { argument } from "./Flags.ts"
import { organizationCommand } from "./ManagementCommand.ts"

const list = organizationCommand({
  name: "list",
  description: "List sandbox messages, newest first",
  call: (client, { org }) => client.sandbox.listSinkMessages({ params: { org } }),
  result: ({ messages }) => messages,
}).table({
  id: "id",
  received: "received_at",
  kind: ({ test }) => test ? "test" : "live",
  to: "email",
  template: "template_id",
  variant: "copy_id",
  subject: ({ fault, subject }) => subject ?? fault,
}, "No messages")

const show = organizationCommand({
  name: "show",
  description: "Show the headers and the plain text of a message; with --json, all of it",
  flags: { id: argument("id", "The id of the delivery") },
  call: (client, { id, org }) => client.sandbox.getSinkMessage({ params: { org, message: id } }),
}).text(({ fault, headers, text, vars }) =>
  [
    ...(fault === null ? [] : [fault, ""]),
    ...headers.map(({ name, value }) => `${name}: ${value}`),
    "",
    text ?? JSON.stringify(vars, null, 2),
  ].join("\n")
)

const clear = organizationCommand({
  name: "clear",
  description: "Remove all sandbox messages",
  call: (client, { org }) => client.sandbox.clearSinkMessages({ params: { org } }),
  result: ({ removed }) => ({ removed }),
}).text(({ removed }) => `Removed ${removed} messages`)

/** `parlance sandbox …` */
export const sandboxCommand = Command.make("sandbox").pipe(
  Command.withDescription("Messages that were not sent: from test keys, and through sink connections"),
  Command.withSubcommands([list, show, clear]),
)
