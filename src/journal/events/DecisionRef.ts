import { isForced } from "../decisions/Track.ts"

/** A decision, as far as its events need it. */
export interface DecisionRef {
  readonly org: string
  readonly trackingId: string
  readonly templateId: string
  /** `noMessage` if a held-out user got no message. */
  readonly copyId: string
  /** The context key, see the glossary. */
  readonly context: string
  /** Its variant was not drawn, see `isForced`. */
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
  readonly propensity: number | null
  readonly userId: string | null
  readonly decidedAt: Date
}

/** The decision of a row of an organization. */
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
