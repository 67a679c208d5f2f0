import { Flag } from "effect/cli"
import { call, commandGroup } from "./ApiCommand.ts"
import { argument, template, text } from "./Flags.ts"
import { tableOf } from "./Table.ts"

const member = Flag.String("member").pipe(Flag.withDescription("E-mail address or account id of the member"))
const channel = argument("channel", "mail, slack or teams")
const report = { template, channel, member }

/** `parlance report …` */
export const reportCommand = commandGroup("report", "Reports of templates that members get on Mondays", {
  list: call("listReports", "List the reports of a member", { member }).text(({ reports }) =>
    reports.length === 0 ? "No reports." : tableOf(
      { template: "template_id", channel: "channel", next: "due_at", sent: "sent_at", failure: "failure" },
      reports,
    )
  ),

  subscribe: call("putReport", "Subscribe a member to the report of a template", {
    ...report,
    url: text("url", "URL of the incoming webhook of Slack, or of the workflow of Teams"),
  }).text(({ due_at }) => `The next report is sent at ${due_at}.`),

  unsubscribe: call("deleteReport", "End a subscription", report).text(() => "Unsubscribed."),

  send: call("sendReport", "Send a report now", report).text(({ failure }) =>
    failure === null ? "Sent." : `Not sent: ${failure}`
  ),
})
