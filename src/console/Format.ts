import type { Role } from "../accounts/Account.ts"
import { currentLanguage, english, plural, t, translated } from "../languages/Language.ts"
import { rateDecimals } from "../results/ObjectiveText.ts"
import { deliveryReason } from "./RetoldTexts.ts"

// The formats of numbers, percentages, dates and durations on all pages of the console.

const numberFormats = new Map<string, Intl.NumberFormat>()

/** A number in the language of the page, with `least` to `most` digits after the decimal point. */
export const decimals = (value: number, least: number, most = least): string => {
  const { locale } = currentLanguage()
  const key = `${locale} ${least} ${most}`
  const known = numberFormats.get(key) ??
    new Intl.NumberFormat(locale, { minimumFractionDigits: least, maximumFractionDigits: most })
  numberFormats.set(key, known)
  return known.format(value)
}

/** A number with two significant digits, such as `0.10`, `4.2` or `57`. */
export const twoDigits = (value: number): string => {
  const { locale } = currentLanguage()
  const key = `${locale} two`
  const known = numberFormats.get(key) ?? new Intl.NumberFormat(locale, {
    minimumSignificantDigits: 2,
    maximumSignificantDigits: 2,
  })
  numberFormats.set(key, known)
  return known.format(value)
}

/** A count, such as `12,345`. Rounded to a whole number. */
export const count = (value: number): string => decimals(Math.round(value) + 0, 0)

/** A count with its noun, such as `1,234 decisions`. */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  plural(value, `{0} ${one}`, `{0} ${many}`).replace("{0}", count(value))

/** A number per second, per hour or the like: `0.4`, `12`, `1,234`. */
export const rate = (value: number): string => value >= 10 ? count(value) : decimals(value, 1)

/** A share in percent: `83 %`, `4.2 %`, `0.35 %`. Shares next to 0 and 1 are `< 0.01 %` and `> 99 %`. */
export const percent = (share: number): string => {
  const value = share * 100
  if (value > 99 && value < 100) return "> 99\u00a0%"
  if (value > 0 && value < 0.01) return `< ${decimals(0.01, 2)}\u00a0%`
  if (Math.abs(value) >= 10 || value === 0) return `${Math.round(value)}\u00a0%`
  return `${decimals(value, Math.abs(value) >= 1 ? 1 : 2)}\u00a0%`
}

/** A share in percent with its sign, such as `+4.2 %`. */
export const signedPercent = (share: number): string => share < 0 ? `−${percent(-share)}` : `+${percent(share)}`

/** A count with its sign. */
export const signedCount = (value: number): string => value < -0.5 ? `−${count(-value)}` : `+${count(Math.abs(value))}`

/** A difference of two shares in percentage points with its sign, such as `−1.7`. */
export const percentagePoints = (share: number, digits = 1): string =>
  `${share < 0 ? "−" : "+"}${decimals(Math.abs(100 * share), digits)}`

/** A format with three digits for rates up to `largest`: in percent, or plain for the value per decision of a mix. */
export const rateFormat = (inPercent: boolean, largest: number): (rate: number) => string => {
  const digits = rateDecimals(inPercent, largest)
  return (rate) => `${decimals(inPercent ? 100 * rate : rate, digits)}${inPercent ? "\u00a0%" : ""}`
}

const dateFormats = new Map<string, Intl.DateTimeFormat>()

/** The most formats that are kept. A zone has about five. */
const maxDateFormats = 1_000

/** A format of dates in `zone`, made once. */
const dateFormat = (zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat => {
  const { locale } = currentLanguage()
  const key = `${locale} ${zone} ${JSON.stringify(options)}`
  const known = dateFormats.get(key)
  if (known !== undefined) return known
  const made = new Intl.DateTimeFormat(locale, { ...options, timeZone: zone })
  if (dateFormats.size < maxDateFormats) dateFormats.set(key, made)
  return made
}

/** A date and time in `zone`, such as `23 Nov 2026, 14:05`. */
export const dateTime = (at: Date, zone: string): string =>
  dateFormat(zone, { dateStyle: "medium", timeStyle: "short" }).format(at)

/** A reason in the language of the page with its times in `zone`: `Expired at 23 Nov 2026, 14:05 before it was sent`. */
export const reasonText = (reason: string, zone: string): string =>
  deliveryReason(reason).replace(
    /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z/g,
    (at) => dateTime(new Date(at), zone),
  )

/** A date in `zone`, such as `23 Nov 2026`. */
export const date = (at: Date, zone: string): string => dateFormat(zone, { dateStyle: "medium" }).format(at)

/** The name of a day of the week, from 0 for Monday to 6: `Monday`, or `Mon`. */
export const weekday = (day: number, form: "long" | "short" = "long"): string =>
  dateFormat("UTC", { weekday: form }).format(Date.UTC(2024, 0, 1 + day))

/** A month, such as `November 2026`. `month`: 1 to 12. */
export const monthName = (year: number, month: number): string =>
  dateFormat("UTC", { month: "long", year: "numeric" }).format(Date.UTC(year, month - 1))

/** A format for the axis of a chart: `23 Nov`, `14:05`, or both. */
export const axisTime = (zone: string, parts: "day" | "clock" | "both"): (time: number) => string => {
  const format = dateFormat(zone, {
    ...(parts === "clock" ? {} : { day: "numeric", month: "short" } as const),
    ...(parts === "day" ? {} : { hour: "2-digit", minute: "2-digit" } as const),
  })
  return (time) => format.format(new Date(time))
}

/** A duration, such as `45 s`, `12 min` or `3 h`. */
export const duration = (seconds: number): string =>
  seconds < 90
    ? `${Math.round(seconds)} s`
    : seconds < 5_400
    ? `${Math.round(seconds / 60)} min`
    : `${Math.round(seconds / 3_600)} h`

/** The first `most` of some texts in a line: `a, b and 3 more`. `unnamed`: the number of others that `texts` does not have. */
export const firstOf = (texts: ReadonlyArray<string>, most: number, unnamed = 0): string => {
  const others = Math.max(0, texts.length - most) + unnamed
  const named = texts.slice(0, most).join(", ")
  return others === 0 ? named : t`${named} and ${others} more`
}

/** The name of a duplicate: `Copy of Footer`. At most 200 characters. */
export const copyName = (name: string): string => t`Copy of ${name}`.slice(0, 200)

/** Roles by their name in the API. */
export const roleWords = { viewer: english("viewer"), editor: english("editor"), admin: english("admin") } as const

/** A role in the language of the page, as part of a sentence. Empty without a role. */
export const roleName = (role: Role | undefined): string => role === undefined ? "" : translated(roleWords[role])
