import { Schema } from "effect"

/** The way in which a member gets the reports of a template. */
export const ReportChannel = Schema.Literals(["mail", "slack", "teams"])
export type ReportChannel = typeof ReportChannel.Type

/** A member's subscription to the report of a template on Mondays. */
export const ReportSubscription = Schema.Struct({
  template_id: Schema.String,
  channel: ReportChannel,
  created_at: Schema.String,
  due_at: Schema.String.annotate({ description: "Time of the next report or attempt, in UTC" }),
  sent_at: Schema.NullOr(Schema.String),
  failure: Schema.NullOr(Schema.String).annotate({ description: "Why the last report failed; null if it did not" }),
}).annotate({ identifier: "ReportSubscription" })
export type ReportSubscription = typeof ReportSubscription.Type
