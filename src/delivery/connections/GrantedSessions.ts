/** After a refusal, one more session is tried at this interval. Unit: milliseconds. */
const retryMillis = 10_000

/**
 * Tracks how many concurrent sessions a server allows. Begins with the maximum of the connection. After the server
 * refuses a session while others are open, the limit is the number of open sessions. It rises by one every 10 seconds,
 * because the server's limit may be temporary.
 */
export class GrantedSessions {
  #count: number
  #changedAt = 0

  /** `most`: maximum number of sessions of the connection, at least 1. `now`: milliseconds of a monotonic clock. */
  constructor(private readonly most: number, private readonly now: () => number) {
    this.#count = most
  }

  /** Whether the server's recent refusal still limits the sessions. */
  get isLimited(): boolean {
    return this.#count < this.most
  }

  /** Number of sessions that may currently be open, from 1 to `most`. */
  get count(): number {
    if (this.isLimited) {
      const more = Math.floor((this.now() - this.#changedAt) / retryMillis)
      this.#count = Math.min(this.most, this.#count + more)
      this.#changedAt += more * retryMillis
    }
    return this.#count
  }

  /** Records that the server refused a session while `others` were open or being opened. */
  refuse(others: number): void {
    this.#count = Math.max(1, Math.min(this.most, others))
    this.#changedAt = this.now()
  }
}
