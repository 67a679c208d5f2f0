import { Schema } from "effect"
import type { OrgSlug } from "../domain/Ids.ts"
import { reasonWords, SuppressionReason } from "../domain/SuppressionReason.ts"

/** A reason for the suppression of an address. */
export const Suppression = Schema.Struct({ reason: SuppressionReason, suppressedAt: Schema.Date })
export type Suppression = typeof Suppression.Type

/** An entry of the suppression list. An address has one entry for each reason. */
export interface SuppressionEntry extends Suppression {
  readonly id: number
  /** The address, normalized for comparison; null after the person was erased. */
  readonly address: string | null
  /** Origin of the entry: a webhook source, `api`, `import`, `unsubscribe page`. */
  readonly source: string
}

/** An address to suppress. */
export interface NewSuppression {
  readonly org: OrgSlug
  readonly address: string
  readonly reason: SuppressionReason
  /** Origin of the entry, 1 to 100 characters. */
  readonly source: string
  /** Time of the opt-out, complaint or bounce. Unit: Unix milliseconds. */
  readonly at: number
}

const gravest = (reason: SuppressionReason): number => SuppressionReason.literals.indexOf(reason)

/**
 * Returns the most severe suppression that blocks a message; undefined if none does. If the template ignores
 * unsubscribes, other reasons still block its messages.
 */
export const suppressionFor = <S extends Suppression>(
  suppressions: ReadonlyArray<S>,
  ignoresUnsubscribes: boolean,
): S | undefined =>
  suppressions
    .filter(({ reason }) => !(ignoresUnsubscribes && reason === "unsubscribe"))
    .sort((a, b) => gravest(a.reason) - gravest(b.reason))[0]

/** Why a delivery was cancelled, such as `Suppressed: the recipient unsubscribed on 2026-11-23 (unsubscribe)`. */
export const cancelledText = ({ reason, suppressedAt }: Suppression): string =>
  `Suppressed: the recipient ${reasonWords[reason].clause} on ${suppressedAt.toISOString().slice(0, 10)} (${reason})`
