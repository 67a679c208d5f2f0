import { type Classify, makeClassifier } from "./Classify.ts"
import table from "./refusals.json" with { type: "json" }
import type { RefusalFact } from "./RefusalTable.ts"

/** The facts of the service itself. */
export const knownRefusals = table as ReadonlyArray<RefusalFact>

let ofOperator: ReadonlyArray<RefusalFact> = []
let classifier: Classify | undefined

/**
 * Sets the facts of the operator (`REFUSALS_FILE`), in addition to the facts of the service. A process calls it at its
 * start. The table belongs to the process, because functions without services classify refusals.
 */
export const extendRefusals = (facts: ReadonlyArray<RefusalFact>): void => {
  if (facts.length === ofOperator.length && JSON.stringify(facts) === JSON.stringify(ofOperator)) return
  ofOperator = facts
  classifier = undefined
}

/** Returns the facts of the operator. */
export const addedRefusals = (): ReadonlyArray<RefusalFact> => ofOperator

/** Returns the class of a refusal, by all facts of this process. */
export const classifyRefusal: Classify = (refusal) =>
  (classifier ??= makeClassifier([...knownRefusals, ...ofOperator]))(refusal)
