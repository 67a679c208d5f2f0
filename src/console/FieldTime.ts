import * as LocalTime from "../templates/LocalTime.ts"

// Times in fields of forms, which browsers send without a zone.

const local = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?$/

/** A time on the clocks of a zone, as browsers send it, as a time with an offset. Other texts stay as they are. */
export const instantOf = (text: string, zone: string): string => {
  const match = local.exec(text)
  if (match === null) return text
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map((part) =>
    Number(part ?? 0)
  )
  const at = Date.UTC(year, month - 1, day, hour, minute, second)
  // A day that the month does not have.
  if (new Date(at).getUTCDate() !== day) return text
  return new Date(LocalTime.of(zone).instantOf(at)).toISOString()
}

const two = (value: number) => String(value).padStart(2, "0")

/** A time as a field of a form shows it, on the clocks of a zone. */
export const inField = (at: Date | undefined, zone: string): string => {
  if (at === undefined) return ""
  const { day, hour, minute, month, year } = LocalTime.of(zone).at(at.getTime())
  return `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}`
}
