import { call, commandGroup } from "./ApiCommand.ts"
import { template } from "./Flags.ts"

/** `parlance learning …` */
export const learningCommand = commandGroup("learning", "Templates whose learning has stopped", {
  stopped: call("listStoppedLearning", "List templates whose learning has stopped after three failed attempts")
    .result(({ stopped }) => stopped)
    .table({ template: "template_id", since: "stopped_at", reason: "reason" }, "No template has stopped learning"),
  resume: call("resumeLearning", "Resume the learning of a template", { template })
    .result((_, { template }) => ({ resumed: template }))
    .text(({ resumed }) => `Learning of ${resumed} is resumed. Check \`parlance learning stopped\` in a minute.`),
})
