import { Command } from "effect/cli"
import { template } from "./Flags.ts"
import { organizationCommand } from "./ManagementCommand.ts"

const stopped = organizationCommand({
  name: "stopped",
  description: "List templates whose learning has stopped after three failed attempts",
  call: (client, { org }) => client.learning.listStoppedLearning({ params: { org } }),
  result: ({ stopped }) => stopped,
}).table({ template: "template_id", since: "stopped_at", reason: "reason" }, "No template has stopped learning")

const resume = organizationCommand({
  name: "resume",
  description: "Resume the learning of a template",
  flags: { template },
  call: (client, { org, template }) => client.learning.resumeLearning({ params: { org, template } }),
  result: (_, { template }) => ({ resumed: template }),
}).text(({ resumed }) => `Learning of ${resumed} is resumed. Check \`parlance learning stopped\` in a minute.`)

/** `parlance learning …` */
export const learningCommand = Command.make("learning").pipe(
  Command.withDescription("Templates whose learning has stopped"),
  Command.withSubcommands([stopped, resume]),
)
