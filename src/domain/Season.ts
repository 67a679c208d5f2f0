import { Schema } from "effect"
import { described } from "./described.ts"

/** A day of the week by its three-letter name in lowercase. */
export const DayOfWeek = Schema.Literals(["mon", "tue", "wed", "thu", "fri", "sat", "sun"])
export type DayOfWeek = typeof DayOfWeek.Type

const daysInMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** A day of the year as `MM-DD`, `02-29` included. */
export const MonthDay = described(Schema.String, "Day of the year as MM-DD, such as 11-15").check(
  Schema.makeFilter<string>((value) => {
    const match = /^(\d{2})-(\d{2})$/.exec(value)
    const days = match === null ? undefined : daysInMonth[Number(match[1]) - 1]
    return days !== undefined && Number(match![2]) >= 1 && Number(match![2]) <= days
      ? undefined
      : "must be a day of the year as MM-DD, such as 11-15"
  }),
)
export type MonthDay = typeof MonthDay.Type

/**
 * A point in time in ISO 8601. Without an offset or `Z` (`2026-11-15T09:00`, `2026-11-15`), it is read in the time zone
 * of the organization.
 */
export const SeasonInstant = described(Schema.String, "ISO 8601, such as 2026-11-15 or 2026-11-15T09:00:00Z").check(
  Schema.makeFilter<string>((value) =>
    /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?$/.test(value) &&
      !Number.isNaN(Date.parse(value)) &&
      // Date.parse rolls 2026-02-30 over into March.
      new Date(`${value.slice(0, 10)}T00:00:00Z`).toISOString().slice(0, 10) === value.slice(0, 10)
      ? undefined
      : "must be an ISO 8601 date or date and time, such as 2026-11-15T09:00 or 2026-11-15T09:00:00Z"
  ),
)
export type SeasonInstant = typeof SeasonInstant.Type

const hasOffset = (value: SeasonInstant) => /(?:Z|[+-]\d{2}:\d{2})$/.test(value)

/** Compares two instants if both have an offset or neither has one. Other pairs have no order without a time zone. */
const ends = Schema.makeFilter<{ readonly starts_at?: SeasonInstant; readonly ends_at?: SeasonInstant }>(
  ({ ends_at, starts_at }) => {
    if (starts_at === undefined || ends_at === undefined || hasOffset(starts_at) !== hasOffset(ends_at)) {
      return undefined
    }
    const ms = (value: SeasonInstant) => Date.parse(hasOffset(value) || !value.includes("T") ? value : `${value}Z`)
    return ms(starts_at) < ms(ends_at) ? undefined : { path: ["ends_at"], issue: "must be after `starts_at`" }
  },
)

/**
 * A period in which a variant is eligible. All members that are present must hold, in the time zone of the
 * organization. Ranges include `from` and exclude `to`. `annual` and `hours` wrap around unless `from` is before `to`
 * (`11-15` to `01-06`, 22 to 6). Equal ends mean the whole year or day. `ends_at` is after `starts_at`.
 */
export const Season = Schema.Struct({
  starts_at: Schema.optionalKey(SeasonInstant),
  ends_at: Schema.optionalKey(SeasonInstant),
  annual: Schema.optionalKey(described(
    Schema.Struct({ from: MonthDay, to: MonthDay }),
    "Days of every year as MM-DD, `to` not included. May pass the turn of the year: {from: 11-15, to: 01-06}",
  )),
  days: Schema.optionalKey(described(Schema.NonEmptyArray(DayOfWeek), "Days of the week")),
  hours: Schema.optionalKey(described(
    Schema.Struct({
      from: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 23 })),
      to: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 24 })),
    }),
    "Hours of the day, `to` not included. May pass midnight: {from: 22, to: 6}",
  )),
}).check(ends).annotate({ identifier: "Season" })
export type Season = typeof Season.Type

/** Up to 50 seasons of a variant. One of them must hold. Empty: always in season. */
export const Seasons = Schema.Array(Season).check(Schema.isMaxLength(50))
export type Seasons = typeof Seasons.Type
