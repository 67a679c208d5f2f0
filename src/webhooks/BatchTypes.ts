import { english } from "../languages/Language.ts"
import { Schema } from "effect"

// Types of events that webhook endpoints receive in batches, made of rows of the exports.

/** A row of an export: values by column. */
type Row = Readonly<Record<string, unknown>>

/** A type of events in batches. */
interface BatchType {
  /** The export whose rows become events. */
  readonly stream: "decisions" | "events" | "deliveries"
  /** When the event happens, for the documentation. */
  readonly summary: string
  /** Whether a row is an event of this type. */
  readonly matches: (row: Row) => boolean
  /** Columns that identify a row. The id of an event is derived from their values. */
  readonly key: ReadonlyArray<string>
  /** The members of an event except `id`: the column and the schema of each. */
  readonly members: Readonly<Record<string, readonly [column: string, schema: Schema.Codec<unknown>]>>
  /** Example of an event, without `id`. */
  readonly example: Row
}

const Text = Schema.String
const Absent = Schema.NullOr(Schema.String)
const at = (description: string) => Schema.String.annotate({ description: `${description}, ISO 8601` })

const reaction = {
  source: ["source", Text.annotate({ description: "The webhook source that reported it, such as `provider_a`" })],
  tracking_id: ["tracking_id", Absent.annotate({ description: "The decision; null for an event about a person" })],
  template_id: ["template_id", Absent],
  user_id: ["user_id", Absent.annotate({ description: "As the source sent it" })],
  email: ["email", Absent.annotate({ description: "As the source sent it" })],
  status: [
    "status",
    Text.annotate({ description: "`attributed` to the decision, `unmatched`, or about a `person`" }),
  ],
  automated: [
    "automated",
    Schema.Boolean.annotate({ description: "The reaction of a machine, such as a link scanner. It does not count" }),
  ],
  occurred_at: ["occurred_at", at("When it happened")],
  received_at: ["received_at", at("When it was reported")],
} as const

const exampleReaction = {
  source: "provider_a",
  tracking_id: "019a0b1c-2d3e-7f40-8a1b-2c3d4e5f6071",
  template_id: "welcome",
  user_id: "ann",
  email: null,
  status: "attributed",
  automated: false,
  occurred_at: "2026-05-04T09:29:58.000Z",
  received_at: "2026-05-04T09:30:00.000Z",
}

const eventKey = ["source", "event_id", "template_id"]

const isOf = (...kinds: ReadonlyArray<string>) => ({ event, status }: Row) =>
  kinds.includes(String(event)) && status !== "ignored"

/** The types of events in batches. To add a type, add it here. */
export const batchTypes = {
  "delivery.sent": {
    stream: "deliveries",
    summary: english("A platform or a mail server accepted a message"),
    matches: ({ state }: Row) => state === "sent",
    key: ["id"],
    members: {
      delivery_id: ["id", Text.annotate({ description: "The delivery and its tracking id" })],
      template_id: ["template_id", Text],
      copy_id: ["copy_id", Text],
      email: ["email", Absent],
      connection: ["connection", Absent],
      message_id: ["message_id", Absent.annotate({ description: "The platform's id of the message" })],
      attempts: ["attempts", Schema.Int],
      queued_at: ["queued_at", at("When it was queued")],
      sent_at: ["finished_at", at("When it was accepted")],
    },
    example: {
      delivery_id: "019a0b1c-2d3e-7f40-8a1b-2c3d4e5f6071",
      template_id: "welcome",
      copy_id: "welcome-a",
      email: "ann@example.com",
      connection: "mail",
      message_id: "<4c1f@mail.example.com>",
      attempts: 1,
      queued_at: "2026-05-04T09:30:00.000Z",
      sent_at: "2026-05-04T09:30:01.000Z",
    },
  },
  "message.opened": {
    stream: "events",
    summary: english("A message was opened, by a person or a machine"),
    matches: isOf("open"),
    key: eventKey,
    members: reaction,
    example: exampleReaction,
  },
  "message.clicked": {
    stream: "events",
    summary: english("A link of a message was clicked, by a person or a machine"),
    matches: isOf("click"),
    key: eventKey,
    members: { ...reaction, link: ["link", Absent] },
    example: { ...exampleReaction, link: "https://shop.example.com/offer" },
  },
  "message.bounced": {
    stream: "events",
    summary: english("A message bounced, for good or for now"),
    matches: isOf("bounce", "soft_bounce"),
    key: eventKey,
    members: { ...reaction, event: ["event", Text.annotate({ description: "`bounce` or `soft_bounce`" })] },
    example: { ...exampleReaction, event: "bounce" },
  },
  "decision.made": {
    stream: "decisions",
    summary: english("Generate, Batch generate or Deliver selected a variant"),
    matches: () => true,
    key: ["tracking_id", "template_id"],
    members: {
      tracking_id: ["tracking_id", Text],
      template_id: ["template_id", Text],
      copy_id: ["copy_id", Absent.annotate({ description: "Null for a held-out user without a message" })],
      user_id: ["user_id", Absent],
      segment: ["segment", Text.annotate({ description: "The recorded attributes of the request" })],
      mode: ["mode", Text],
      holdout: ["holdout", Absent.annotate({ description: "`treated` or `control`; null without a holdout" })],
      propensity: ["propensity", Schema.NullOr(Schema.Finite)],
      decided_at: ["decided_at", at("When it was made")],
    },
    example: {
      tracking_id: "019a0b1c-2d3e-7f40-8a1b-2c3d4e5f6071",
      template_id: "welcome",
      copy_id: "welcome-a",
      user_id: "ann",
      segment: "plan=pro",
      mode: "bandit",
      holdout: "treated",
      propensity: 0.62,
      decided_at: "2026-05-04T09:30:00.000Z",
    },
  },
} as const satisfies Readonly<Record<string, BatchType>>

/** Type of events in batches, such as `decision.made`. */
export type BatchedType = keyof typeof batchTypes

/** All types of events in batches. */
export const batchedTypes = Object.keys(batchTypes) as ReadonlyArray<BatchedType>

/** A stream of rows that become events. */
export type FeedStream = BatchType["stream"]

/** Maximum number of events in a batch. */
export const batchSize = 1_000

/** Returns the types among `chosen` that are sent in batches, and made of rows of `stream` if one is given. */
export const batchedAmong = (chosen: ReadonlyArray<string>, stream?: FeedStream): ReadonlyArray<BatchedType> =>
  batchedTypes.filter((type) => chosen.includes(type) && (stream === undefined || batchTypes[type].stream === stream))
