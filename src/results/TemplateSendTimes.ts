import { Schema } from "effect"
import { QuietHours } from "../domain/Organization.ts"
import { DayOfWeek } from "../domain/Season.ts"
import { TimingResults } from "./TemplateResults.ts"
import { described } from "../domain/described.ts"

// When the people who get a template look at it, as the API answers it and people read it.

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
  "The hour in which may be sent with the largest share of them; null while nothing is known",
)

const known = {
  touches: described(Schema.Finite, "Messages of the last 180 days that it is learned from, of at most 20,000 people"),
  engagements: described(Schema.Finite, "Of these, those that a person opened, clicked or converted of"),
  weight: described(
    Schema.Finite,
    "The share of its week that is its own, 0 to 1; the rest is what the next wider level knows",
  ),
}

export const SendTimeHour = Schema.Struct({
  ...place,
  attention: described(
    Schema.Finite,
    "The share of messages that have just come in that people are expected to engage with in that hour",
  ),
  engaged,
  allowed: described(
    Schema.Finite,
    "The share of the hour in which may be sent, 0 to 1, by the quiet hours and allowed days of the organization",
  ),
})
export type SendTimeHour = typeof SendTimeHour.Type

/** The week of a template: reactions to messages by the hour of sending. */
export const TemplateSendTimes = Schema.Struct({
  template_id: Schema.String,
  basis: described(
    Schema.Literals(["template", "organization", "default", "learning"]),
    "`organization`: nothing is known of the template, so that this is the week of its organization; `default`: nothing " +
      "is known at all; `learning`: the people are being counted, ask again in a few seconds",
  ),
  time_zone: described(
    Schema.String,
    "That of the organization. Hours are those of each recipient's clocks, and of this zone where theirs is not known",
  ),
  tau_hours: described(Schema.NullOr(Schema.Finite), "Hours in which a message loses its freshness"),
  quiet_hours: Schema.NullOr(QuietHours),
  allowed_days: Schema.NullOr(Schema.Array(DayOfWeek)),
  levels: described(
    Schema.Array(Schema.Struct({ level: Schema.Literals(["template", "organization"]), ...known })),
    "What is known, from the narrowest to the widest; empty while nothing is",
  ),
  hours: described(
    Schema.Array(SendTimeHour),
    "The 168 hours of the week from Monday 0:00 on; empty while nothing is known",
  ),
  best: BestHour,
  variants: described(
    Schema.Array(Schema.Struct({ copy_id: Schema.String, name: Schema.String, ...known, best: BestHour })),
    "Where the variants differ from their template; empty while nothing is known",
  ),
  timing: described(TimingResults, "What keeping to advised times gained, of decisions of the last 180 days"),
}).annotate({ identifier: "TemplateSendTimes" })
export type TemplateSendTimes = typeof TemplateSendTimes.Type
