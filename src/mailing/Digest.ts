import * as LocalTime from "../templates/LocalTime.ts"

/** The local hour of the organization at which digests and weekly reports are sent. */
export const digestHour = 8

const hourMillis = 3_600_000
const dayMillis = 24 * hourMillis

/**
 * Returns when the digest with a notification is due: at the next 8:00 in the organization's time zone. Unit: Unix
 * milliseconds.
 */
export const digestDueAt = (createdAt: number, zone: string): number => {
  const clocks = LocalTime.of(zone)
  const local = createdAt + clocks.offsetAt(createdAt)
  const today = Math.floor(local / dayMillis) * dayMillis + digestHour * hourMillis
  return clocks.instantOf(today > local ? today : today + dayMillis)
}

/**
 * Returns when the report after `now` is due: on the next Monday at 8:00 in the organization's time zone. Unit: Unix
 * milliseconds.
 */
export const reportDueAt = (now: number, zone: string): number => {
  const clocks = LocalTime.of(zone)
  const local = now + clocks.offsetAt(now)
  // 1970-01-05 was a Monday.
  const monday = 4 * dayMillis + digestHour * hourMillis
  const weeks = Math.floor((local - monday) / (7 * dayMillis)) + 1
  return clocks.instantOf(monday + weeks * 7 * dayMillis)
}
