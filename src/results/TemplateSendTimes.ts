import { Schema } from "effect"
import { QuietHours } from "../domain/Organization.ts"
import { DayOfWeek } from "../domain/Season.ts"
import { TimingResults } from "./TemplateResults.ts"
import { described } from "../domain/described.ts"

// The times at which the recipients of a template read it, in the shape of the API's response.

const place = {
  day: described(Schema.Int, "1 is Monday, 7 is Sunday"),
  hour: described(Schema.Int, "0 to 23, as clocks show it"),
}

const engaged = described(
  Schema.Finite,
  "The share of messages sent in that hour that people are expected to engage with, within 72 hours",
)

const BestHour = described(
  Schema.NullOr(Schema.Struct({
    ...place,
    engaged,
    certain: described(
      Schema.Boolean,
      "Whether hours differ by more than chance at all (a log-rank test at the 5 % level, of the template, or of the " +
        "organization while most of the week is the organization's). If not, other hours may be as good",
    ),
  })),
  "The allowed hour with the highest share of engagement. Null without data",
)

const known = {
  touches: described(Schema.Finite, "Messages of the last 180 days that are used, to at most 20,000 people"),
  engagements: described(
    Schema.Finite,
    "Number of these messages that a person opened or clicked, or that led to a conversion",
  ),
  weight: described(
    Schema.Finite,
    "Share of the week that is learned from its own data, 0 to 1; the rest comes from the next wider level",
  ),
}

/** One hour of a template's week, with the reactions to messages sent in it. */
export const SendTimeHour = Schema.Struct({
  ...place,
  attention: described(
    Schema.Finite,
    "The share of messages that have just come in that people are expected to engage with in that hour",
  ),
  engaged,
  allowed: described(
    Schema.Finite,
    "Share of the hour in which sending is allowed, 0 to 1, by the quiet hours and allowed days of the organization",
  ),
})
export type SendTimeHour = typeof SendTimeHour.Type

/** The week of a template: reactions to messages by the hour of sending. */
export const TemplateSendTimes = Schema.Struct({
  template_id: Schema.String,
  basis: described(
    Schema.Literals(["template", "organization", "default", "learning"]),
    "`organization`: the template has no data, so this is the week of its organization; `default`: there is no data at " +
      "all; `learning`: people are still being counted. Repeat the request in a few seconds",
  ),
  time_zone: described(
    Schema.String,
    "Time zone of the organization. Hours are local to each recipient, or in this zone if the recipient's is unknown",
  ),
  tau_hours: described(Schema.NullOr(Schema.Finite), "Hours in which a message loses its freshness"),
  quiet_hours: Schema.NullOr(QuietHours),
  allowed_days: Schema.NullOr(Schema.Array(DayOfWeek)),
  levels: described(
    Schema.Array(Schema.Struct({ level: Schema.Literals(["template", "organization"]), ...known })),
    "Data of each level, the template first. Empty without data",
  ),
  hours: described(
    Schema.Array(SendTimeHour),
    "The 168 hours of the week from Monday 0:00 on. Empty without data",
  ),
  best: BestHour,
  variants: described(
    Schema.Array(Schema.Struct({ copy_id: Schema.String, name: Schema.String, ...known, best: BestHour })),
    "Differences of the variants from their template. Empty without data",
  ),
  timing: described(
    TimingResults,
    "Gain of messages sent at the recommended times, over decisions of the last 180 days",
  ),
}).annotate({ identifier: "TemplateSendTimes" })
export type TemplateSendTimes = typeof TemplateSendTimes.Type
