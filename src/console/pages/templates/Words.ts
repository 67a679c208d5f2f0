import { localeWords } from "../../../domain/Locale.ts"
import type { TemplateHoldout } from "../../../domain/Holdout.ts"
import type { Season } from "../../../domain/Season.ts"
import { type TemplateSettingName, type TemplateSettings, templateSettings } from "../../../domain/Template.ts"
import type { TemplateTracking } from "../../../domain/Tracking.ts"
import { currentLanguage, english, t, translated } from "../../../languages/Language.ts"
import { axisTime, counted, date, percent } from "../../Format.ts"

// Texts about templates and variants.

/** Who is held out of a template, such as `5 % of people get a random split`. Null: the setting of the organization. */
export const holdoutWords = (holdout: TemplateHoldout | null): string => {
  if (holdout === null) return t`organization default`
  const { content, copy_id, share } = holdout
  if (share === 0) return t`none`
  const percents = Number((100 * share).toPrecision(6)).toLocaleString(currentLanguage().locale)
  return content === "even"
    ? t`${percents} % of people get a random split`
    : content === "fixed"
    ? t`${percents} % of people always get ${String(copy_id)}`
    : t`${percents} % of people get no message`
}

/** Events measured in messages, such as `opens and clicks`; null: the setting of the organization. */
export const trackingWords = (tracking: TemplateTracking | null): string =>
  tracking === null
    ? t`organization default`
    : tracking.opens
    ? tracking.clicks ? t`opens and clicks` : t`opens`
    : tracking.clicks
    ? t`clicks`
    : t`nothing`

/** The settings of a template that concern its messages, in words. */
const settingWords = {
  locale: ({ locale }) => localeWords(locale),
  sticky_hours: ({ sticky_hours: hours }) =>
    hours === 0 ? t`no, chosen for every message` : t`for ${counted(hours, "hour")}`,
  send_nothing: ({ send_nothing }) => send_nothing ? t`where a message does more harm than good` : t`no`,
  runner_up_floor: ({ runner_up_floor: floor }) =>
    floor === 0 ? t`as Parlance chooses` : t`at least ${percent(floor)} divided by the number of variants`,
  holdout: ({ holdout }) => holdoutWords(holdout),
  tracking: ({ tracking }) => trackingWords(tracking),
  list_unsubscribe: ({ list_unsubscribe }) => list_unsubscribe ? t`yes` : t`no`,
  strict: ({ strict }) => strict ? t`fail (strict)` : t`left blank`,
  ignore_unsubscribes: ({ ignore_unsubscribes }) =>
    ignore_unsubscribes ? t`get its messages (transactional)` : t`get no message`,
  link_domains: ({ link_domains }) => link_domains.length === 0 ? t`none` : link_domains.join(", "),
  conversion_events: ({ conversion_events }) => conversion_events.length === 0 ? t`none` : conversion_events.join(", "),
} as const satisfies { readonly [name in TemplateSettingName]?: (template: TemplateSettings) => string }

/** Settings of a template, each with its label and its value in words. */
export const settingFacts = (
  template: TemplateSettings,
  names = Object.keys(settingWords) as ReadonlyArray<keyof typeof settingWords>,
): ReadonlyArray<readonly [label: string, text: string]> =>
  names.map((name) => [translated(templateSettings[name].label), settingWords[name](template)])

/** Names of the days, by their short name. */
export const dayNames = {
  mon: english("Monday"),
  tue: english("Tuesday"),
  wed: english("Wednesday"),
  thu: english("Thursday"),
  fri: english("Friday"),
  sat: english("Saturday"),
  sun: english("Sunday"),
} as const

/** `11-15` as `15 Nov`. The year is a leap year. */
const monthDay = (value: string): string => axisTime("UTC", "day")(Date.parse(`2024-${value}`))

/** `2026-12-01T08:00` as `1 Dec 2026 08:00`. */
const instant = (value: string): string =>
  value.replace(/^(\d{4}-\d\d-\d\d)T?/, (_, day: string) => `${date(new Date(day), "UTC")} `).trim()

const hour = (value: number): string => `${String(value).padStart(2, "0")}:00`

/** When a season is, such as `every year from 15 Nov until 6 Jan, on Monday or Friday, between 09:00 and 17:00`. */
export const seasonText = ({ annual, days, ends_at, hours, starts_at }: Season): string => {
  const parts = [
    ...(starts_at === undefined ? [] : [t`from ${instant(starts_at)}`]),
    ...(ends_at === undefined ? [] : [t`until ${instant(ends_at)}`]),
    ...(annual === undefined ? [] : [t`every year from ${monthDay(annual.from)} until ${monthDay(annual.to)}`]),
    ...(days === undefined
      ? []
      : [t`on ${days.map((day) => translated(dayNames[day])).reduce((all, day) => t`${all} or ${day}`)}`]),
    ...(hours === undefined ? [] : [t`between ${hour(hours.from)} and ${hour(hours.to)}`]),
  ]
  return parts.length === 0 ? t`always` : parts.join(", ")
}
