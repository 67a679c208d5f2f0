import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { TimelineResource } from "../api/timelines/TimelinesApi.ts"
import { listOfSources } from "../domain/Source.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

const percent = (share: number | null) => share === null ? "–" : `${(share * 100).toFixed(1)} %`

/** A story as a terminal shows it. */
const textOf = (story: TimelineResource): string => {
  const parts: Array<string> = []
  for (const { email, traits, updated_at, user_id } of story.profiles) {
    parts.push(
      `User ${user_id}${email === null ? "" : `, ${email}`}; profile of ${updated_at}`,
      ...Object.entries(traits).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}`),
    )
  }
  for (const decision of story.decisions) {
    const weights = Object.entries(decision.weights ?? {}).map(([name, share]) => `${name} ${percent(share)}`)
    parts.push(
      `${decision.decided_at}  ${decision.template_id} / ${
        decision.copy_id || "no message"
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
  if (story.next !== null) parts.push(`More with --after ${story.next}`)
  return parts.length === 0 ? "Nothing found. Check the exact spelling" : parts.join("\n")
}

const eventsText = (events: TimelineResource["loose"]) =>
  table(
    ["occurred", "source", "event", "effect", "why"],
    events.map(({ effect, event, occurred_at, reason, source }) => [occurred_at, source, event, effect, reason]),
  )

/** `parlance person show` */
export const personShow = Command.make(
  "show",
  {
    user: Flag.String("user").pipe(Flag.withDescription("The user's id as callers give it"), Flag.optional),
    email: Flag.String("email").pipe(Flag.withDescription("The e-mail address"), Flag.optional),
    after: Flag.String("after").pipe(Flag.withDescription("The value that the previous page printed"), Flag.optional),
    limit: Flag.Int("limit").pipe(Flag.withDescription("Decisions, 1 to 100"), Flag.withDefault(20)),
  },
  Effect.fnUntraced(function* ({ after: cursor, email, limit, user }) {
    if (Option.isSome(user) === Option.isSome(email)) {
      return yield* new CommandFailed({ message: "Select the person with either --user or --email." })
    }
    const client = yield* ManagementClient
    const story = yield* client.stories.findStory({
      params: { org: yield* organization },
      query: {
        ...(Option.isSome(user) ? { user_id: user.value } : {}),
        ...(Option.isSome(email) ? { email: email.value } : {}),
        ...(Option.isSome(cursor) ? { after: cursor.value } : {}),
        limit: String(limit),
      },
    })
    yield* print(story, textOf(story))
  }),
).pipe(
  Command.withDescription(
    "Show everything about a person: traits, decisions with reasons, messages, events and their effect",
  ),
)

/** `parlance event story` */
export const eventStory = Command.make(
  "story",
  { trackingId: Argument.String("tracking-id") },
  Effect.fnUntraced(function* ({ trackingId }) {
    const client = yield* ManagementClient
    const story = yield* client.stories.findStory({
      params: { org: yield* organization },
      query: { tracking_id: trackingId },
    })
    yield* print(story, textOf(story))
  }),
).pipe(
  Command.withDescription(
    "Show everything about a tracking id: the decision with its reason, the message, events and their effect",
  ),
)

/** `parlance webhook events` */
export const webhookEvents = Command.make(
  "events",
  {
    sourceId: Argument.String("source").pipe(Argument.withDescription(`One of ${listOfSources}`)),
    limit: Flag.Int("limit").pipe(Flag.withDescription("1 to 200"), Flag.withDefault(50)),
  },
  Effect.fnUntraced(function* ({ limit, sourceId }) {
    const client = yield* ManagementClient
    const { events } = yield* client.stories.recentEvents({
      params: { org: yield* organization, segment: sourceId },
      query: { limit: String(limit) },
    })
    yield* print(
      events,
      events.length === 0 ? "No recent events" : table(
        ["occurred", "event", "machine", "tracking id", "user", "template", "variant", "status"],
        events.map((one) => [
          one.occurred_at,
          one.event,
          one.automated,
          one.tracking_id,
          one.user,
          one.template_id,
          one.copy_id,
          one.status,
        ]),
      ),
    )
  }),
).pipe(Command.withDescription("List the latest events of a source"))
