const dayMillis = 86_400_000

/** A day in UTC, such as `2026-11-22`. */
export const dayOf = (now: number): string => new Date(now).toISOString().slice(0, 10)

/** The start of the day after `now` (UTC). Unix milliseconds. */
export const nextDay = (now: number): number => (Math.floor(now / dayMillis) + 1) * dayMillis

/** Bytes that an organization stored in a day, as known to this node. */
interface Use {
  readonly org: string
  readonly day: string
  /** Bytes in the table, from all nodes, including this node's up to the last exchange. */
  stored: number
  /** Bytes that this node has not added to the table yet. */
  bytes: number
  refused: number
  /** Organizations checked since the last exchange, whose quota and use on other nodes must be read again. */
  isTouched: boolean
}

/** Bytes to add to the table for one organization and day. */
export interface UseReport {
  readonly org: string
  readonly day: string
  readonly bytes: number
  readonly refused: number
}

/** A row of the table. `quota`: the organization's own; null without one. */
export interface StoredUse {
  readonly org: string
  readonly day: string
  readonly bytes: number
  readonly quota: number | null
}

/**
 * Counts the bytes that organizations store per day, in memory: the table's value at the last exchange plus this node's
 * bytes since then. With several nodes, the quota can be exceeded by the bytes that arrive between two exchanges.
 */
export class DailyBytes {
  readonly #uses = new Map<string, Use>()
  readonly #quotas = new Map<string, number>()

  /** `otherwise` is the quota of organizations without one of their own; undefined for none. */
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

  /** The quota of an organization; undefined for none. */
  quotaOf(org: string): number | undefined {
    return this.#quotas.get(org) ?? this.otherwise
  }

  /** Whether the organization may store more today; counts a refusal where it may not. */
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

  /** Bytes that are not in the table yet. */
  unreported(org: string, now: number): UseReport {
    const { bytes, day, refused } = this.#use(org, dayOf(now))
    return { org, day, bytes, refused }
  }

  /** Bytes to add to the table; `restore` takes them back if that fails. */
  takeReports(now: number): ReadonlyArray<UseReport> {
    const today = dayOf(now)
    const reports: Array<UseReport> = []
    for (const [key, use] of this.#uses) {
      const { bytes, day, isTouched, org, refused } = use
      if (bytes > 0 || refused > 0 || (isTouched && day === today)) {
        reports.push({ org, day, bytes, refused })
        // Counted as stored meanwhile, so that nothing more is let through.
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

  /** Takes back reports that did not arrive. */
  restore(reports: ReadonlyArray<UseReport>): void {
    for (const { bytes, day, org, refused } of reports) {
      const use = this.#use(org, day)
      use.stored -= bytes
      use.bytes += bytes
      use.refused += refused
      use.isTouched = true
    }
  }

  /** Takes over the rows of the table. */
  learn(rows: ReadonlyArray<StoredUse>): void {
    for (const { bytes, day, org, quota } of rows) {
      this.#use(org, day).stored = bytes
      this.setQuota(org, quota)
    }
  }

  /** Sets the quota of an organization; null: the installation's default. */
  setQuota(org: string, quota: number | null): void {
    if (quota === null) this.#quotas.delete(org)
    else this.#quotas.set(org, quota)
  }
}
