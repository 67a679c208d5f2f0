/** A decision, as far as its events need it. */
export interface DecisionRef {
  readonly org: string
  readonly trackingId: string
  readonly templateId: string
  readonly copyId: string
  readonly segment: string
  readonly forced: boolean
  /** The caller's name for the end user; undefined where none was given. */
  readonly user: string | undefined
  /** Unix milliseconds. */
  readonly decidedAt: number
}

/** The columns of a decision's row that its reference is made of. */
export interface DecisionRow {
  readonly trackingId: string
  readonly templateId: string
  readonly copyId: string
  readonly segment: string
  readonly mode: string
  readonly userId: string | null
  readonly decidedAt: Date
}

/** The decision of a row of an organization. */
export const refOf = (org: string, row: DecisionRow): DecisionRef => ({
  org,
  trackingId: row.trackingId,
  templateId: row.templateId,
  copyId: row.copyId,
  segment: row.segment,
  forced: row.mode === "forced",
  user: row.userId ?? undefined,
  decidedAt: row.decidedAt.getTime(),
})
