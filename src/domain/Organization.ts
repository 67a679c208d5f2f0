import { Schema } from "effect"
import { isStorable } from "./Attributes.ts"
import { OrganizationConversionEvents } from "./ConversionEvents.ts"
import { OrganizationHoldout } from "./Holdout.ts"
import { DisplayName, OrgSlug } from "./Ids.ts"
import { DayOfWeek } from "./Season.ts"
import { OrganizationTracking, UnsubscribePage } from "./Tracking.ts"
import { ianaZone, isIanaZone } from "./ZoneNames.ts"

/** A time zone by its IANA name, such as `Europe/Berlin` or `UTC`. */
const TimeZone = Schema.String.check(
  Schema.makeFilter<string>((value) => {
    if (isIanaZone(value)) return undefined
    const meant = ianaZone(value)
    return `must be an IANA time zone, such as ${meant ?? "Europe/Berlin or UTC"}`
  }),
)

/** Share of traffic for uniform exploration: 0 to 0.2, default 0.01. */
export const ExplorationFloor = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 0.2 }))

/** Latest advised send time, counted from the request: 1 to 168. Default: 24. Unit: hours. */
const DelayHorizonHours = Schema.Finite.check(Schema.isBetween({ minimum: 1, maximum: 168 }))

const TimeOfDay = Schema.String.check(
  Schema.makeFilter<string>((value) =>
    /^([01]\d|2[0-3]):[0-5]\d$/.test(value) ? undefined : "must be a time of day as HH:MM, such as 21:00"
  ),
)

/**
 * Period without messages, in the recipient's local time: from `from`, before `to`. It passes midnight unless `from` <
 * `to`.
 */
export const QuietHours = Schema.Struct({ from: TimeOfDay, to: TimeOfDay }).check(
  Schema.makeFilter<{ readonly from: string; readonly to: string }>(({ from, to }) =>
    from === to ? { path: ["to"], issue: "must differ from `from`, or no time of the day is left" } : undefined
  ),
)
export type QuietHours = typeof QuietHours.Type

/** Days of the week on which messages may be sent, in the recipient's local time. At least one. */
export const AllowedDays = Schema.NonEmptyArray(DayOfWeek)
export type AllowedDays = typeof AllowedDays.Type

/** Shortest retention. Tallies need their source data for 180 days, rounded up to weeks. Unit: days. */
export const leastRetentionDays = 200

/** Retention of decisions and events: 200 to 3,650. Default: 400. Unit: days. */
const RetentionDays = Schema.Int.check(Schema.isBetween({ minimum: leastRetentionDays, maximum: 3650 }))

/** Retention of understood webhook bodies: 1 to 365. Default: 30. Unit: days. */
const InboxRetentionDays = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 365 }))

/** Whether members who sign in with a password must have a second factor. Default: false. */
const RequireSecondFactor = Schema.Boolean.annotate({
  description: "Whether members who sign in with a password must have a second factor",
})

/** Whether addresses on the suppression list receive no messages. Default: true. */
const SuppressionSetting = Schema.Boolean.annotate({
  description: "Whether nothing is sent to addresses on the suppression list. The list is kept in any case",
})

/** The role that approves changes to live templates. Default: `none`. */
export const TemplateApproval = Schema.Literals(["none", "editor", "admin"]).annotate({
  description:
    "Who approves changes to live templates. `none`: changes go live at once. `editor`: an editor or admin " +
    "other than the author. `admin`: an admin other than the author",
})
export type TemplateApproval = typeof TemplateApproval.Type

/** Number of consecutive soft bounces that suppress an address: 1 to 100. Default: 5. */
const SoftBounceLimit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 })).annotate({
  description: "Number of consecutive soft bounces after which an address is suppressed; null: never",
})

/** A name or id of a group of messages, or `*` for any. */
const GroupName = Schema.String.check(
  Schema.makeFilter<string>((text) =>
    text.length === 0 || text.length > 200 || text.trim() !== text || !isStorable(text)
      ? "must be the name or id of a group: 1 to 200 characters without spaces at its ends"
      : undefined
  ),
)

/** Groups whose opt-outs count for all e-mail. Default: none. */
const GroupOptOuts = Schema.Array(GroupName).check(Schema.isMaxLength(200)).annotate({
  description:
    "Lists, groups, channels and types of messages whose opt-outs count for all e-mail, by the name or id that " +
    "the platform reports, such as the id of a subscription group. `*`: opt-outs of any group. Opt-outs of other groups " +
    "suppress no address. Up to 200",
})

/** Members are notified at this share of failed deliveries: 0.001 to 1. Default: 0.1. */
const DeliveryFailureThreshold = Schema.Finite.check(Schema.isBetween({ minimum: 0.001, maximum: 1 })).annotate({
  description:
    "Members are notified at this share of failed deliveries, among the deliveries that ended in this and the previous hour, " +
    "if at least 10 failed",
})

/** Currency of the organization's revenue: an ISO 4217 code in capital letters, such as EUR. */
const Currency = Schema.String.check(
  Schema.makeFilter<string>((value) =>
    /^[A-Z]{3}$/.test(value) ? undefined : "must be an ISO 4217 code of three capital letters, such as EUR"
  ),
).annotate({
  description: "Currency of the organization's revenue, ISO 4217. Conversions with a value in another currency count " +
    "without value. null: values count whatever their currency",
})

/** A request to create an organization. `time_zone` is UTC by default. */
export const OrganizationInput = Schema.Struct({
  slug: OrgSlug,
  name: DisplayName,
  time_zone: Schema.optionalKey(TimeZone),
}).annotate({ identifier: "OrganizationInput" })
export type OrganizationInput = typeof OrganizationInput.Type

/** A change of an organization. Absent members stay unchanged. Null removes a limit. */
export const OrganizationPatch = Schema.Struct({
  name: Schema.optionalKey(DisplayName),
  time_zone: Schema.optionalKey(TimeZone),
  exploration_floor: Schema.optionalKey(ExplorationFloor),
  holdout: Schema.optionalKey(OrganizationHoldout),
  conversion_events: Schema.optionalKey(OrganizationConversionEvents),
  tracking: Schema.optionalKey(OrganizationTracking),
  unsubscribe_page: Schema.optionalKey(Schema.NullOr(UnsubscribePage)),
  delay_horizon_hours: Schema.optionalKey(DelayHorizonHours),
  quiet_hours: Schema.optionalKey(Schema.NullOr(QuietHours)),
  allowed_days: Schema.optionalKey(Schema.NullOr(AllowedDays)),
  retention_days: Schema.optionalKey(RetentionDays),
  inbox_retention_days: Schema.optionalKey(InboxRetentionDays),
  require_second_factor: Schema.optionalKey(RequireSecondFactor),
  suppression: Schema.optionalKey(SuppressionSetting),
  soft_bounce_limit: Schema.optionalKey(Schema.NullOr(SoftBounceLimit)),
  group_opt_outs: Schema.optionalKey(GroupOptOuts),
  currency: Schema.optionalKey(Schema.NullOr(Currency)),
  template_approval: Schema.optionalKey(TemplateApproval),
  delivery_failure_threshold: Schema.optionalKey(DeliveryFailureThreshold),
}).annotate({ identifier: "OrganizationPatch" })
export type OrganizationPatch = typeof OrganizationPatch.Type

/** A stored organization. Times are ISO 8601 in UTC. */
export const Organization = Schema.Struct({
  slug: OrgSlug,
  name: Schema.String,
  time_zone: Schema.String,
  exploration_floor: Schema.Finite,
  holdout: OrganizationHoldout,
  conversion_events: Schema.Array(Schema.String),
  tracking: OrganizationTracking,
  unsubscribe_page: Schema.NullOr(UnsubscribePage),
  delay_horizon_hours: Schema.Finite,
  quiet_hours: Schema.NullOr(QuietHours),
  allowed_days: Schema.NullOr(Schema.Array(DayOfWeek)),
  retention_days: Schema.Int,
  inbox_retention_days: Schema.Int,
  require_second_factor: RequireSecondFactor,
  suppression: SuppressionSetting,
  soft_bounce_limit: Schema.NullOr(SoftBounceLimit),
  group_opt_outs: Schema.Array(Schema.String),
  currency: Schema.NullOr(Currency),
  template_approval: TemplateApproval,
  delivery_failure_threshold: DeliveryFailureThreshold,
  created_at: Schema.String,
  updated_at: Schema.String,
}).annotate({ identifier: "Organization" })
export type Organization = typeof Organization.Type
