import { english } from "../languages/Language.ts"
import { Schema } from "effect"
import { alternatives } from "../text/alternatives.ts"
import { SuppressionReason } from "../domain/SuppressionReason.ts"
import { type BatchedType, batchedTypes } from "./BatchTypes.ts"

// Types of single events that webhook endpoints receive, and their data. `BatchTypes.ts` has those sent in batches.

const org = Schema.String.annotate({ description: "The organization" })
const at = (description: string) => Schema.String.annotate({ description: `${description}, ISO 8601` })

const template = {
  org,
  template_id: Schema.String,
  copy_id: Schema.NullOr(Schema.String).annotate({ description: "The variant; null for the whole template" }),
}

const review = {
  ...template,
  template_id: Schema.String.annotate({ description: "The template. Empty for a snippet" }),
  snippet_id: Schema.optionalKey(Schema.String).annotate({ description: "The snippet. Absent for a template" }),
  review_id: Schema.String.annotate({ description: "The proposed change of the template, or the id of the snippet" }),
  by: Schema.String.annotate({ description: "The person who did it, by e-mail address" }),
  note: Schema.NullOr(Schema.String).annotate({ description: "What the person wrote" }),
}

const connection = {
  org,
  connection: Schema.String.annotate({ description: "Name of the connection" }),
  platform: Schema.String,
  reason: Schema.String.annotate({ description: "What the platform answered" }),
  since: at("Since when"),
}

/** The data of each type of event. */
export const eventData = {
  "delivery.failed": Schema.Struct({
    org,
    id: Schema.String.annotate({ description: "The delivery and its tracking id" }),
    template_id: Schema.String,
    copy_id: Schema.String,
    email: Schema.NullOr(Schema.String),
    connection: Schema.NullOr(Schema.String),
    reason: Schema.NullOr(Schema.String),
    attempts: Schema.Int,
    queued_at: at("When the message was queued"),
    failed_at: at("When it failed"),
  }),
  "suppression.added": Schema.Struct({
    org,
    address: Schema.String.annotate({ description: "In lowercase" }),
    reason: Schema.String.annotate({
      description: alternatives(SuppressionReason.literals.map((reason) => `\`${reason}\``)),
    }),
    suppressed_at: at("Time of the complaint, bounce or unsubscribe, or of the entry"),
  }),
  "person.unsubscribed": Schema.Struct({
    org,
    address: Schema.String.annotate({ description: "In lowercase" }),
    unsubscribed_at: at("When the person unsubscribed"),
  }),
  "connection.broken": Schema.Struct(connection),
  "connection.refusing": Schema.Struct(connection),
  "winner.found": Schema.Struct({
    org,
    template_id: Schema.String,
    copy_id: Schema.String.annotate({ description: "The variant that won. Empty if sending nothing is best" }),
    verdict: Schema.Literals(["winner", "firm_winner"]).annotate({
      description: "A winner that becomes firm later is a separate event",
    }),
    compared: Schema.Array(Schema.String).annotate({
      description: "The variants that were compared, by id. Empty for sending nothing",
    }),
    found_at: at("When the verdict was reached"),
  }),
  "variant.failing": Schema.Struct({
    org,
    template_id: Schema.String,
    copy_id: Schema.String,
    requests: Schema.Int.annotate({ description: "Requests for the variant in this and the previous hour" }),
    failed: Schema.Int.annotate({ description: "Those that could not be rendered" }),
    variable: Schema.String.annotate({ description: "The variable of the latest failure" }),
    noticed_at: at("When it was noticed"),
  }),
  "source.silent": Schema.Struct({
    org,
    source: Schema.String.annotate({ description: "The source, such as `provider_a`" }),
    platform: Schema.String,
    last_received_hour: at("Start of the last hour in which a body arrived"),
    longest_pause_hours: Schema.Finite.annotate({
      description: "The longest time between two hours with a body, in the 14 days before",
    }),
    noticed_at: at("When it was noticed"),
  }),
  "deliveries.failing": Schema.Struct({
    org,
    failed: Schema.Int.annotate({
      description:
        "Deliveries that failed in this and the previous hour, or that a report refused because of the sender or the content",
    }),
    ended: Schema.Int.annotate({ description: "Deliveries that were sent or failed in that time" }),
    threshold: Schema.Finite.annotate({ description: "Failure rate from which on the event is sent" }),
    noticed_at: at("When it was noticed"),
  }),
  "review.requested": Schema.Struct({ ...review, requested_at: at("When the review was requested") }),
  "review.approved": Schema.Struct({ ...review, approved_at: at("When the change was approved") }),
  "review.rejected": Schema.Struct({ ...review, rejected_at: at("When the change was rejected") }),
  "comment.added": Schema.Struct({
    ...template,
    comment_id: Schema.String,
    by: Schema.String.annotate({ description: "The author, by e-mail address" }),
    text: Schema.String,
    added_at: at("When it was written"),
  }),
  ping: Schema.Struct({ org, endpoint_id: Schema.String }),
} as const

/** Type of an event, such as `delivery.failed`. */
export type EventType = keyof typeof eventData

/** Types of single events that an endpoint can subscribe to. Every endpoint also receives `ping`. */
type SingleType = Exclude<EventType, "ping">

/** Types that an endpoint can subscribe to. */
export type ChosenType = SingleType | BatchedType

/** All types of single events that an endpoint can subscribe to. */
export const singleTypes = Object.keys(eventData).filter((type): type is SingleType => type !== "ping")

/** All types that an endpoint can subscribe to. */
export const chosenTypes = [...singleTypes, ...batchedTypes]

/** An event of an organization. */
export type WebhookEvent = {
  readonly [type in EventType]: { readonly type: type; readonly data: (typeof eventData)[type]["Type"] }
}[EventType]

/** Describes when each event is sent, for the documentation. */
export const eventSummaries: { readonly [type in EventType]: string } = {
  "delivery.failed": english("A delivery failed for good, or expired"),
  "suppression.added": english("An address was added to the suppression list"),
  "person.unsubscribed": english("A person unsubscribed"),
  "connection.broken": english(
    "A platform no longer accepts messages of a connection, for example because of its credentials",
  ),
  "connection.refusing": english("A connection was paused, because the platform refused too many messages"),
  "winner.found": english("A template has a winner, or its winner has become firm"),
  "variant.failing": english(
    "A variant could not be rendered for at least 10 % of its requests and 10 of them. Sent again only after it has recovered",
  ),
  "source.silent": english(
    "A source that sent regularly is silent for longer than usual. Sent again only after it has sent something",
  ),
  "deliveries.failing": english(
    "Of the deliveries of this and the previous hour, at least 10 and the share `delivery_failure_threshold` of the " +
      "organization failed. Sent again only after the share has fallen below half of that",
  ),
  "review.requested": english("A member asked for a review of a change"),
  "review.approved": english("A member approved a change"),
  "review.rejected": english("A member rejected a change"),
  "comment.added": english("A member wrote a comment on a template"),
  ping: english("An endpoint is tested"),
}

const since = "2026-05-04T09:30:00.000Z"
const id = "019a0b1c-2d3e-7f40-8a1b-2c3d4e5f6071"
const failing = { org: "shop", connection: "mail", platform: "smtp", reason: "535 authentication failed", since }

const reviewed = {
  org: "shop",
  template_id: "welcome",
  copy_id: "welcome-b",
  review_id: "12",
  by: "ann@example.com",
  note: "Shorter subject",
}

/** Example data of each event. */
export const eventExamples: { readonly [type in EventType]: (typeof eventData)[type]["Type"] } = {
  "delivery.failed": {
    org: "shop",
    id,
    template_id: "welcome",
    copy_id: "welcome-a",
    email: "ann@example.com",
    connection: "mail",
    reason: "550 5.1.1 user unknown",
    attempts: 1,
    queued_at: since,
    failed_at: "2026-05-04T09:30:02.000Z",
  },
  "suppression.added": { org: "shop", address: "ann@example.com", reason: "hard_bounce", suppressed_at: since },
  "person.unsubscribed": { org: "shop", address: "ann@example.com", unsubscribed_at: since },
  "connection.broken": failing,
  "connection.refusing": { ...failing, reason: "550 5.7.1 message refused" },
  "winner.found": {
    org: "shop",
    template_id: "welcome",
    copy_id: "welcome-b",
    verdict: "winner",
    compared: ["welcome-a", "welcome-b"],
    found_at: since,
  },
  "variant.failing": {
    org: "shop",
    template_id: "welcome",
    copy_id: "welcome-b",
    requests: 120,
    failed: 31,
    variable: "subject",
    noticed_at: since,
  },
  "source.silent": {
    org: "shop",
    source: "provider_a",
    platform: "braze",
    last_received_hour: "2026-05-03T21:00:00.000Z",
    longest_pause_hours: 7,
    noticed_at: since,
  },
  "deliveries.failing": { org: "shop", failed: 47, ended: 142, threshold: 0.1, noticed_at: since },
  "review.requested": { ...reviewed, requested_at: since },
  "review.approved": { ...reviewed, by: "ben@example.com", note: null, approved_at: since },
  "review.rejected": { ...reviewed, by: "ben@example.com", note: "Too long", rejected_at: since },
  "comment.added": {
    org: "shop",
    template_id: "welcome",
    copy_id: null,
    comment_id: "31",
    by: "ann@example.com",
    text: "Let us try an offer here.",
    added_at: since,
  },
  ping: { org: "shop", endpoint_id: "5b8b1f0e" },
}
