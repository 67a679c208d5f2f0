import * as LocalTime from "../templates/LocalTime.ts"

/** The hour at which digests are sent, on the clocks of the organization. */
export const digestHour = 8

const hourMillis = 3_600_000
const dayMillis = 24 * hourMillis

/** When the digest with a notification is due: at the next eight o'clock in the organization's zone. Unix milliseconds. */
export const digestDueAt = (createdAt: number, zone: string): number => {
  const clocks = LocalTime.of(zone)
  const local = createdAt + clocks.offsetAt(createdAt)
  const today = Math.floor(local / dayMillis) * dayMillis + digestHour * hourMillis
  return clocks.instantOf(today > local ? today : today + dayMillis)
}
