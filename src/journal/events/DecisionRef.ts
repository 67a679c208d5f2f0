import { isForced } from "../decisions/Track.ts"

/** The fields of a decision that its events use. */
export interface DecisionRef {
  readonly org: string
  readonly trackingId: string
  readonly templateId: string
  /** `noMessage` if a user in the holdout received no message. */
  readonly copyId: string
  /** The context key: see the glossary. */
  readonly context: string
  /** Whether its variant was not drawn: see `isForced`. */
  readonly forced: boolean
  /** The caller's id of the user; undefined if the request had none. */
  readonly user: string | undefined
  /** Unit: Unix milliseconds. */
  readonly decidedAt: number
}

/** The columns of a decision from which its reference is made. */
export interface DecisionRow {
  readonly trackingId: string
  readonly templateId: string
  readonly copyId: string
  readonly segment: string
  readonly mode: string
  readonly propensity: number | null
  readonly userId: string | null
  readonly decidedAt: Date
}

/** Returns the decision of a row. */
export const refOf = (org: string, row: DecisionRow): DecisionRef => ({
  org,
  trackingId: row.trackingId,
  templateId: row.templateId,
  copyId: row.copyId,
  context: row.segment,
  forced: isForced(row),
  user: row.userId ?? undefined,
  decidedAt: row.decidedAt.getTime(),
})
