import { CopyId, OrgSlug, TemplateId } from "../../../src/domain/Ids.ts"
import type { ClaimChoice } from "../../../src/delivery/DomainSessions.ts"
import { leaseSeconds, type RememberedBrake } from "../../../src/delivery/LaneLeases.ts"
import type { Claimed, Settled } from "../../../src/delivery/Outbox.ts"

/** A row of the table of deliveries. */
export interface Row {
  readonly id: string
  readonly domain: string
  readonly isTransactional: boolean
  readonly queuedAt: number
  state: "queued" | "sending" | "sent" | "failed"
  fence: number
  dueAt: number
  attempts: number
  interruptions: number
  firstFailedAt: number | undefined
  reason: string
  /** Recorded events after which the platform may have the message although it is sent again. */
  ambiguities: number
}

/** Faults that a test plants to show that the simulation finds them. */
export interface OutboxFaults {
  /** The store does not compare fences. */
  readonly withoutFence?: boolean
  /** A lease can be taken one second before it ends. */
  readonly offByOneLease?: boolean
}

// The values of `Outbox.ts`.
const suspectAfter = 2
const interruptionsAtMost = 5

/** The reason of attempts whose answer was lost. */
export const cutReason = "The link broke before the answer"

/**
 * The tables of deliveries and of the one lane in memory, under the rules of `Outbox.ts`. Each method is one
 * transaction.
 */
export class OutboxModel {
  readonly rows = new Map<string, Row>()
  /** Rows that have not ended. */
  readonly open = new Set<Row>()
  fence = 0
  leaseUntil = -Infinity
  /** The last fence that was released. */
  released = 0
  brake: RememberedBrake | null = null
  /** The clock of the store less virtual time. */
  clockOffset = 0

  constructor(private readonly time: () => number, private readonly faults: OutboxFaults) {}

  private get now(): number {
    return this.time() + this.clockOffset
  }

  queue(id: string, domain: string, isTransactional: boolean): void {
    const { now } = this
    const row: Row = {
      id,
      domain,
      isTransactional,
      queuedAt: now,
      state: "queued",
      fence: 0,
      dueAt: now,
      attempts: 0,
      interruptions: 0,
      firstFailedAt: undefined,
      reason: "",
      ambiguities: 0,
    }
    this.rows.set(id, row)
    this.open.add(row)
  }

  /** Whether nobody holds the lane and there is something to do. */
  get isIdle(): boolean {
    if (this.leaseUntil > this.now) return false
    for (const { dueAt, state } of this.open) if (state === "sending" || dueAt <= this.now) return true
    return false
  }

  take() {
    const { leaseUntil, now } = this
    if (leaseUntil - (this.faults.offByOneLease === true ? 1_000 : 0) > now) return undefined
    this.fence++
    this.leaseUntil = now + leaseSeconds * 1_000
    for (const row of this.open) {
      if (row.state !== "sending" || row.fence >= this.fence) continue
      row.interruptions++
      row.ambiguities++
      if (row.interruptions >= interruptionsAtMost) this.end(row, "failed", "interrupted")
      else {
        row.state = "queued"
        if (row.interruptions >= suspectAfter) row.dueAt = now
      }
    }
    return { fence: this.fence, brake: this.brake, quietMillis: Math.max(0, 1_000 - (now - leaseUntil)) }
  }

  renew(fence: number): boolean {
    if (fence !== this.fence) return false
    this.leaseUntil = this.now + leaseSeconds * 1_000
    return true
  }

  release(fence: number): void {
    if (fence !== this.fence) return
    this.leaseUntil = this.now
    this.released = fence
  }

  claim(fence: number, limit: number, isBusy: boolean, choice: ClaimChoice): ReadonlyArray<Claimed> {
    const { now } = this
    if (!this.holds(fence, this.fence)) return []
    const due = [...this.open].filter((row) => row.state === "queued" && row.dueAt <= now && isChosen(row, choice))
      .sort((a, b) =>
        Number(b.isTransactional) - Number(a.isTransactional) || a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1)
      )
    const urgent = due.filter((row) => row.isTransactional).slice(0, Math.max(1, Math.floor(0.9 * limit)))
    const found = [...urgent, ...due.filter((row) => !row.isTransactional)].slice(0, limit)
    const suspect = found.findIndex((row) => row.interruptions >= suspectAfter)
    const taken = suspect < 0 ? found : suspect === 0 && !isBusy ? found.slice(0, 1) : found.slice(0, suspect)
    return taken.map((row) => {
      row.state = "sending"
      row.fence = fence
      return claimedOf(row, now)
    })
  }

  giveBack(fence: number, ids: ReadonlyArray<string>): void {
    for (const row of this.rowsOf(ids)) {
      if (row.state === "sending" && this.holds(fence, row.fence)) row.state = "queued"
    }
  }

  settle(fence: number, settled: ReadonlyArray<Settled>, brake: RememberedBrake | undefined): void {
    if (brake !== undefined && fence === this.fence) this.brake = brake
    for (const one of settled) {
      const row = this.rows.get(one.id)!
      if (!this.holds(fence, row.fence) || !isOpenFor(one, row)) continue
      row.interruptions = 0
      if (one._tag === "sent") {
        this.end(row, "sent", "")
        continue
      }
      if (one.reason.includes(cutReason)) row.ambiguities++
      if (one._tag !== "cancelled" && one.burned) {
        row.attempts++
        row.firstFailedAt ??= this.now
      }
      if (one._tag !== "again") this.end(row, "failed", one.reason)
      else {
        row.state = "queued"
        row.reason = one.reason
        if (one.delayMillis !== undefined) row.dueAt = this.now + one.delayMillis
      }
    }
  }

  private holds(fence: number, of: number): boolean {
    return fence === of || this.faults.withoutFence === true
  }

  private rowsOf(ids: ReadonlyArray<string>): ReadonlyArray<Row> {
    return ids.map((id) => this.rows.get(id)!)
  }

  private end(row: Row, state: "sent" | "failed", reason: string): void {
    row.state = state
    row.reason = reason
    this.open.delete(row)
  }
}

const isOpenFor = ({ _tag }: Settled, { state }: Row): boolean =>
  state === "sending" || (state === "queued" && _tag !== "again")

const isChosen = (row: Row, { dueFrom, isTransactional, only, without }: ClaimChoice): boolean =>
  (only === undefined ? !(without ?? []).includes(row.domain) : row.domain === only) &&
  (isTransactional !== true || row.isTransactional) &&
  (row.isTransactional || dueFrom === undefined || row.dueAt >= dueFrom)

const org = OrgSlug.make("o")
const templateId = TemplateId.make("t")
const copyId = CopyId.make("c")

const claimedOf = (row: Row, now: number): Claimed => ({
  id: row.id,
  org,
  templateId,
  copyId,
  email: `a@${row.domain}`,
  vars: {},
  formats: {},
  attempt: row.attempts + 1,
  queuedAt: row.queuedAt,
  firstAttemptAt: row.queuedAt,
  domain: row.domain,
  dueAt: row.dueAt,
  isTransactional: row.isTransactional,
  isSuspect: row.interruptions >= suspectAfter,
  retryingMillis: row.firstFailedAt === undefined ? 0 : now - row.firstFailedAt,
})
