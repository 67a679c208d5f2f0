/** After a refusal, one more session is tried this often. Unit: milliseconds. */
const retryMillis = 10_000

/**
 * How many sessions at once a server grants: as many as the connection has, until the server refuses one while others are
 * open. Then as many as are open, and one more every 10 seconds, as the limit may have been for a moment only.
 */
export class GrantedSessions {
  #count: number
  #changedAt = 0

  /** `most`: the sessions of the connection, at least 1. */
  constructor(private readonly most: number) {
    this.#count = most
  }

  /** Whether the server has refused a session lately. */
  get isLimited(): boolean {
    return this.#count < this.most
  }

  /** Sessions that may be open at `now` (milliseconds of a clock that does not jump), from 1 to `most`. */
  count(now: number): number {
    if (this.#count < this.most) {
      const more = Math.floor((now - this.#changedAt) / retryMillis)
      this.#count = Math.min(this.most, this.#count + more)
      this.#changedAt += more * retryMillis
    }
    return this.#count
  }

  /** Notes that the server refused a session at `now` while `others` were open or being opened. */
  refuse(others: number, now: number): void {
    this.#count = Math.max(1, Math.min(this.most, others))
    this.#changedAt = now
  }
}
