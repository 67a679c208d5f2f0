import { Schema } from "effect"
import { english } from "../languages/Language.ts"

/** The words for a reason why nothing is sent to an address. */
interface ReasonWords {
  /** Name in the console. */
  readonly name: string
  /** The clause after "The recipient" in messages, such as "The recipient unsubscribed". */
  readonly clause: string
}

/**
 * The reasons why nothing is sent to an address, by their names in the API and in the database. The gravest reason
 * comes first.
 */
const reasons = {
  complaint: { name: english("Spam complaint"), clause: "complained about spam" },
  hard_bounce: { name: english("Hard bounce"), clause: "bounced for good" },
  soft_bounce: { name: english("Soft bounces"), clause: "bounced too often in a row" },
  manual: { name: english("Added by hand"), clause: "was put on the suppression list" },
  unsubscribe: { name: english("Unsubscribe"), clause: "unsubscribed" },
} as const satisfies { readonly [reason: string]: ReasonWords }

/** Why nothing is sent to an address. The gravest reason comes first. */
export const SuppressionReason = Schema.Literals(Object.keys(reasons) as ReadonlyArray<keyof typeof reasons>)
export type SuppressionReason = typeof SuppressionReason.Type

/** The words for each reason. */
export const reasonWords: { readonly [reason in SuppressionReason]: ReasonWords } = reasons
