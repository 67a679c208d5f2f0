const dayMillis = 86_400_000

/** Returns a day in UTC, such as `2026-11-22`. */
export const dayOf = (now: number): string => new Date(now).toISOString().slice(0, 10)

/** Returns the start of the day after `now` (UTC). Unit: Unix milliseconds. */
export const nextDay = (now: number): number => (Math.floor(now / dayMillis) + 1) * dayMillis

/** Bytes that an organization stored in a day, as far as this node knows. */
interface Use {
  readonly org: string
  readonly day: string
  /** Bytes in the table from all nodes. Includes this node's bytes up to the last exchange. */
  stored: number
  /** Bytes that this node has not added to the table yet. */
  bytes: number
  refused: number
  /** Whether the organization was checked since the last exchange, so that its quota and use must be read again. */
  isTouched: boolean
}

/** Bytes to add to the table for one organization and day. */
interface UseReport {
  readonly org: string
  readonly day: string
  readonly bytes: number
  readonly refused: number
}

/** A row of the table. `quota` is the organization's own quota; null if it has none. */
interface StoredUse {
  readonly org: string
  readonly day: string
  readonly bytes: number
  readonly quota: number | null
}

/**
 * Counts the bytes that organizations store per day, in memory: the table's value at the last exchange, plus this
 * node's bytes since then. With several nodes, an organization may exceed its quota by the bytes that arrive between
 * two exchanges.
 */
export class DailyBytes {
  readonly #uses = new Map<string, Use>()
  readonly #quotas = new Map<string, number>()

  /** `otherwise` is the quota of organizations without their own quota; undefined for no limit. */
  constructor(readonly otherwise: number | undefined) {}

  #use(org: string, day: string): Use {
    const key = `${day} ${org}`
    let use = this.#uses.get(key)
    if (use === undefined) {
      use = { org, day, stored: 0, bytes: 0, refused: 0, isTouched: false }
      this.#uses.set(key, use)
    }
    return use
  }

  /** Returns the quota of an organization; undefined for no limit. */
  quotaOf(org: string): number | undefined {
    return this.#quotas.get(org) ?? this.otherwise
  }

  /** Whether the organization may store more bytes today. Counts a refusal if it may not. */
  admits(org: string, now: number): boolean {
    const use = this.#use(org, dayOf(now))
    use.isTouched = true
    if (use.stored + use.bytes < (this.quotaOf(org) ?? Infinity)) return true
    use.refused++
    return false
  }

  /** Counts stored bytes. */
  add(org: string, bytes: number, now: number): void {
    const use = this.#use(org, dayOf(now))
    use.bytes += bytes
    use.isTouched = true
  }

  /** Returns the bytes that are not in the table yet. */
  unreported(org: string, now: number): UseReport {
    const { bytes, day, refused } = this.#use(org, dayOf(now))
    return { org, day, bytes, refused }
  }

  /** Returns the bytes to add to the table. Call `restore` if that fails. */
  takeReports(now: number): ReadonlyArray<UseReport> {
    const today = dayOf(now)
    const reports: Array<UseReport> = []
    for (const [key, use] of this.#uses) {
      const { bytes, day, isTouched, org, refused } = use
      if (bytes > 0 || refused > 0 || (isTouched && day === today)) {
        reports.push({ org, day, bytes, refused })
        // Counts the bytes as stored during the exchange, so that the quota still holds.
        use.stored += bytes
        use.bytes = 0
        use.refused = 0
        use.isTouched = false
      } else if (day < today) {
        this.#uses.delete(key)
      }
    }
    return reports
  }

  /** Restores reports that could not be added to the table. */
  restore(reports: ReadonlyArray<UseReport>): void {
    for (const { bytes, day, org, refused } of reports) {
      const use = this.#use(org, day)
      use.stored -= bytes
      use.bytes += bytes
      use.refused += refused
      use.isTouched = true
    }
  }

  /** Updates the counts and quotas from rows of the table. */
  learn(rows: ReadonlyArray<StoredUse>): void {
    for (const { bytes, day, org, quota } of rows) {
      this.#use(org, day).stored = bytes
      this.setQuota(org, quota)
    }
  }

  /** Sets the quota of an organization; null for the installation's default. */
  setQuota(org: string, quota: number | null): void {
    if (quota === null) this.#quotas.delete(org)
    else this.#quotas.set(org, quota)
  }
}
