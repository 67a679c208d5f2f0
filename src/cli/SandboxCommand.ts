import { call, commandGroup } from "./ApiCommand.ts"
import { argument } from "./Flags.ts"

/** `parlance sandbox …` */
export const sandboxCommand = commandGroup(
  "sandbox",
  "Messages that were not sent: from test keys, and through sink connections",
  {
    list: call("listSinkMessages", "List sandbox messages, newest first").result(({ messages }) => messages).table({
      id: "id",
      received: "received_at",
      kind: ({ test }) => test ? "test" : "live",
      to: "email",
      template: "template_id",
      variant: "copy_id",
      subject: ({ fault, subject }) => subject ?? fault,
    }, "No messages"),

    show: call("getSinkMessage", "Show the headers and the plain text of a message; with --json, all of it", {
      message: argument("id", "The id of the delivery"),
    }).text(({ fault, headers, text, vars }) =>
      [
        ...(fault === null ? [] : [fault, ""]),
        ...headers.map(({ name, value }) => `${name}: ${value}`),
        "",
        text ?? JSON.stringify(vars, null, 2),
      ].join("\n")
    ),

    clear: call("clearSinkMessages", "Remove all sandbox messages")
      .result(({ removed }) => ({ removed }))
      .text(({ removed }) => `Removed ${removed} messages`),
  },
)
