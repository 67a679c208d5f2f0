const hourMillis = 3_600_000

/** Deliveries that are remembered. */
const remembered = 20_000

/**
 * Counts the mails about each delivery in an hour. A server sends one or two; who sends more has seen the return path and
 * means to fill the store.
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
