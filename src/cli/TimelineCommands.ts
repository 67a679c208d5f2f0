import { Argument } from "effect/cli"
import type { TimelineResource } from "../api/timelines/TimelinesApi.ts"
import { candidateName } from "../domain/SendNothing.ts"
import { listOfSources } from "../domain/Source.ts"
import { call } from "./ApiCommand.ts"
import { CommandFailed } from "./Connection.ts"
import { argument, cursor, text, whole } from "./Flags.ts"
import { tableOf } from "./Table.ts"

const percent = (share: number | null) => share === null ? "–" : `${(share * 100).toFixed(1)} %`

/** Formats a timeline for a terminal. */
const textOf = (story: TimelineResource): string => {
  const parts: Array<string> = []
  for (const { email, traits, updated_at, user_id } of story.profiles) {
    parts.push(
      `User ${user_id}${email === null ? "" : `, ${email}`}; profile of ${updated_at}`,
      ...Object.entries(traits).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}`),
    )
  }
  for (const decision of story.decisions) {
    const weights = Object.entries(decision.weights ?? {}).map(([name, share]) =>
      `${candidateName(name)} ${percent(share)}`
    )
    parts.push(
      `${decision.decided_at}  ${decision.template_id} / ${
        decision.copy_id || (decision.mode === "control" ? "no message (held out)" : "no message (send nothing)")
      }, tracking id ${decision.tracking_id}`,
      `  ${decision.mode}, chosen with ${percent(decision.propensity)}${
        weights.length === 0 ? "" : ` of ${weights.join(", ")}`
      }; segment ${decision.segment === "" ? "(all)" : decision.segment}; model ${decision.policy}`,
    )
    if (decision.failed !== undefined) {
      parts.push(`  could not be rendered: ${decision.failed.map(({ copy_id }) => copy_id).join(", ")}`)
    }
    if (decision.delivery !== null) {
      const { email, reason, state } = decision.delivery
      parts.push(`  delivery ${state} to ${email ?? "(erased)"}${reason === null ? "" : `: ${reason}`}`)
    }
    if (decision.events.length > 0) parts.push(eventsText(decision.events))
  }
  for (const { id, state, template_id } of story.repeats) {
    parts.push(`Message ${id} of ${template_id} repeats a sticky choice; it is ${state}`)
  }
  if (story.loose.length > 0) parts.push("Events without a decision:", eventsText(story.loose))
  for (const { advised_at, basis, copy_id, given_at } of story.advice) {
    parts.push(`Recommended at ${given_at}: send ${copy_id} at ${advised_at} (based on ${basis})`)
  }
  for (const { address, reason, source, suppressed_at } of story.suppressions) {
    parts.push(`Suppressed since ${suppressed_at}: ${reason} of ${address ?? "an erased person"}, added by ${source}`)
  }
  if (story.next_cursor !== null) parts.push(`More with --cursor ${story.next_cursor}`)
  return parts.length === 0 ? "Nothing found. Check the exact spelling" : parts.join("\n")
}

const eventsText = (events: TimelineResource["loose"]) =>
  tableOf({ occurred: "occurred_at", source: "source", event: "event", effect: "effect", why: "reason" }, events)

/** `parlance person show` */
export const personShow = call(
  "findStory",
  "Show everything about a person: traits, decisions with reasons, messages, events and their effect",
  {
    user_id: text("user", "The user's id in requests of callers"),
    email: text("email", "The e-mail address"),
    cursor: cursor("after"),
    limit: whole("limit", "Decisions, 1 to 100", 20),
  },
).sends((values) =>
  (values.user_id === undefined) !== (values.email === undefined)
    ? values
    : new CommandFailed({ message: "Select the person with either --user or --email." })
).text(textOf)

/** `parlance event story` */
export const eventStory = call(
  "findStory",
  "Show everything about a tracking id: the decision with its reason, the message, events and their effect",
  { tracking_id: Argument.String("tracking-id") },
).text(textOf)

/** Columns of events, after the time and the source. */
export const eventColumns = {
  event: "event",
  machine: "automated",
  "tracking id": "tracking_id",
  user: "user",
  template: "template_id",
  variant: "copy_id",
  status: "status",
} as const

/** `parlance webhook events` */
export const webhookEvents = call("recentEvents", "List the latest events of a source", {
  segment: argument("source", `One of ${listOfSources}`),
  limit: whole("limit", "1 to 200", 50),
}).result(({ events }) => events).table({ occurred: "occurred_at", ...eventColumns }, "No recent events")
