import { Schema } from "effect"
import type { EventName } from "../domain/Event.ts"
import type { OrgSlug } from "../domain/Ids.ts"

/** Why nothing is sent to an address, the gravest reason first. */
export const SuppressionReason = Schema.Literals(["complaint", "hard_bounce", "soft_bounce", "manual", "unsubscribe"])
export type SuppressionReason = typeof SuppressionReason.Type

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

/** The reasons that events give at once. Soft bounces are counted first. */
export const reasonOfEvent: { readonly [event in EventName]?: SuppressionReason } = {
  bounce: "hard_bounce",
  spam: "complaint",
  unsubscribe: "unsubscribe",
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

/** Each reason as it stands in a sentence about an address. */
export const reasonTexts: { readonly [reason in SuppressionReason]: string } = {
  complaint: "complained about spam",
  hard_bounce: "bounced for good",
  soft_bounce: "bounced too often in a row",
  manual: "was put on the suppression list",
  unsubscribe: "unsubscribed",
}

/** Why a delivery was cancelled, such as `Suppressed: the recipient unsubscribed on 2026-11-23 (unsubscribe)`. */
export const cancelledText = ({ reason, suppressedAt }: Suppression): string =>
  `Suppressed: the recipient ${reasonTexts[reason]} on ${suppressedAt.toISOString().slice(0, 10)} (${reason})`
