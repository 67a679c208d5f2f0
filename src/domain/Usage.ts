import { Schema } from "effect"

/** Daily quota of webhook bodies of an organization: 1 to 10^15. Unit: bytes. */
const WebhookDailyBytes = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1e15 }))

/** The quotas of an organization, set by administrators of the installation. Null: the default of the installation. */
export const Quota = Schema.Struct({ webhook_daily_bytes: Schema.NullOr(WebhookDailyBytes) }).annotate({
  identifier: "Quota",
})
export type Quota = typeof Quota.Type

/** An organization's use of its quotas today. */
export const Usage = Schema.Struct({
  day: Schema.String.annotate({ description: "The day these figures are of, in UTC, such as 2026-11-22" }),
  webhook_bytes: Schema.Int.annotate({
    description: "Bytes of webhook bodies and their headers stored today; up to a second behind",
  }),
  webhook_daily_bytes: Schema.NullOr(Schema.Int).annotate({
    description: "The quota in bytes a day that applies; null: none",
  }),
  webhook_refused: Schema.Int.annotate({ description: "Webhook bodies answered 429 today for the quota" }),
  resets_at: Schema.String.annotate({ description: "When the next day begins" }),
}).annotate({ identifier: "Usage" })
export type Usage = typeof Usage.Type
