/** After a refusal, one more session is tried this often. Unit: milliseconds. */
const retryMillis = 10_000

/**
 * How many sessions at once a server grants: as many as the connection has, until the server refuses one while others are
 * open. Then as many as are open, and one more every 10 seconds, as the limit may have been for a moment only.
 */
export class GrantedSessions {
  #count: number
  #changedAt = 0

  /** `most`: the sessions of the connection, at least 1. `now`: milliseconds of a clock that does not jump. */
  constructor(private readonly most: number, private readonly now: () => number) {
    this.#count = most
  }

  /** Whether the server has refused a session lately. */
  get isLimited(): boolean {
    return this.#count < this.most
  }

  /** Sessions that may be open now, from 1 to `most`. */
  get count(): number {
    if (this.isLimited) {
      const more = Math.floor((this.now() - this.#changedAt) / retryMillis)
      this.#count = Math.min(this.most, this.#count + more)
      this.#changedAt += more * retryMillis
    }
    return this.#count
  }

  /** Notes that the server has just refused a session while `others` were open or being opened. */
  refuse(others: number): void {
    this.#count = Math.max(1, Math.min(this.most, others))
    this.#changedAt = this.now()
  }
}
