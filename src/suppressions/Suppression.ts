import { Schema } from "effect"
import type { OrgSlug } from "../domain/Ids.ts"
import { reasonWords, SuppressionReason } from "../domain/SuppressionReason.ts"

/** One reason why nothing is sent to an address. */
export const Suppression = Schema.Struct({ reason: SuppressionReason, suppressedAt: Schema.Date })
export type Suppression = typeof Suppression.Type

/** An entry of the suppression list. An address with several reasons has one for each. */
export interface SuppressionEntry extends Suppression {
  readonly id: number
  /** The address in the form in which addresses are compared; null once the person has been erased. */
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
  /** When the person said so, or the message bounced. Unix milliseconds. */
  readonly at: number
}

const gravest = (reason: SuppressionReason): number => SuppressionReason.literals.indexOf(reason)

/**
 * The gravest reason that keeps a message from an address; undefined if none does. A template that ignores unsubscribes is
 * kept from it by every other reason.
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
