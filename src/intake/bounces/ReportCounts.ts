const hourMillis = 3_600_000

/** Maximum number of deliveries in memory. */
const remembered = 20_000

/**
 * Counts the mails about each delivery per hour. A mail server sends one or two. A client that sends more has learned
 * the return path and tries to fill the store.
 */
export class ReportCounts {
  readonly #counts = new Map<string, { readonly since: number; count: number }>()

  constructor(readonly most: number) {}

  /** Whether another mail about a delivery may be received now. */
  admits(delivery: string, now: number): boolean {
    const known = this.#counts.get(delivery)
    return known === undefined || now - known.since >= hourMillis || known.count < this.most
  }

  /** Counts a mail that a client begins to send. */
  add(delivery: string, now: number): void {
    const known = this.#counts.get(delivery)
    if (known !== undefined && now - known.since < hourMillis) known.count++
    else {
      this.#counts.delete(delivery)
      this.#counts.set(delivery, { since: now, count: 1 })
    }
    if (this.#counts.size > remembered) this.#counts.delete(this.#counts.keys().next().value!)
  }
}
