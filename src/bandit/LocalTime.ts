const slotMillis = 15 * 60_000

const days: Readonly<Record<string, number>> = { Mon: 0, Tue: 1, Wed: 2, Thu: 3, Fri: 4, Sat: 5, Sun: 6 }

/**
 * The clock on the wall of one time zone, cheap enough for every decision: the calendar is asked once per quarter of an
 * hour, because every offset in use since 1972 is a multiple of 15 minutes, so that the local hour cannot change within
 * one.
 */
export class LocalTime {
  readonly #format: Intl.DateTimeFormat
  #slot = NaN
  #hourOfWeek = 0

  /** `timeZone` is an IANA name such as `Europe/Berlin`; an unknown one throws a `RangeError`. */
  constructor(timeZone: string) {
    this.#format = new Intl.DateTimeFormat("en-US", { timeZone, weekday: "short", hour: "2-digit", hourCycle: "h23" })
  }

  /** Hours since Monday 00:00 on the wall, 0 to 167, at `atMillis` (Unix milliseconds). */
  hourOfWeek(atMillis: number): number {
    const slot = Math.floor(atMillis / slotMillis)
    if (slot !== this.#slot) {
      let day = 0
      let hour = 0
      for (const part of this.#format.formatToParts(slot * slotMillis)) {
        if (part.type === "weekday") day = days[part.value]!
        else if (part.type === "hour") hour = Number(part.value)
      }
      this.#hourOfWeek = day * 24 + hour
      this.#slot = slot
    }
    return this.#hourOfWeek
  }
}
