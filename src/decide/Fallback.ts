import { type EligibleSet, eligibleSet } from "../bandit/Policy.ts"
import type { CopyId } from "../domain/Ids.ts"
import type { FailedRendering } from "../journal/decisions/Decision.ts"
import { type Answer, inPlaceOf, type NotRendered } from "./Answer.ts"
import type { PlanInput } from "./Plan.ts"
import { renderChoice } from "./RenderChoice.ts"
import { changeTrace } from "./Selection.ts"

// Chooses the variant that replaces one that cannot be rendered.

/**
 * Maximum number of times a request gets a new full budget after a rendering has used up the previous one. Limits the
 * work of a request to three budgets, regardless of its number of candidates.
 */
const renewals = 2

/** A variant that was chosen and could not be rendered. */
export interface FailedChoice extends FailedRendering {
  readonly error: NotRendered
}

/** The rendered replacement, and the failed variants in the order in which they were tried. */
interface Fallback {
  readonly answer: Extract<Answer, { readonly _tag: "Chosen" }>
  readonly failed: ReadonlyArray<FailedRendering>
}

type NotRenderedAnswer = Extract<Answer, { readonly _tag: "NotRendered" }>

/** Returns the answer that no candidate could be rendered. */
const noneRendered = (trackingId: string, [first, ...others]: ReadonlyArray<FailedChoice>): NotRenderedAnswer => ({
  _tag: "NotRendered",
  trackingId,
  error: first!.error,
  ...(others.length === 0 ? {} : { others: others.map(({ error }) => error) }),
})

/**
 * Renders a candidate in place of `first`, which could not be rendered. `draw` chooses from the remaining candidates.
 * Its `turn` counts the draws of the request from 0. Returns the refusal if no candidate can be rendered, or if the
 * attempts have used up their budgets.
 */
export const renderFallback = (
  input: PlanInput,
  candidates: EligibleSet,
  first: FailedChoice,
  draw: (left: EligibleSet, turn: number) => CopyId,
  trace: unknown,
): Fallback | NotRenderedAnswer => {
  const { request, trackingId } = input
  const failed = [first]
  let { budget } = request
  let left = candidates.ids.filter((id) => id !== first.copyId)
  for (let renewed = 0; left.length > 0;) {
    if (budget.isOverdrawn) {
      if (renewed++ === renewals) break
      budget = budget.renewed()
    }
    const copyId = draw(eligibleSet(left), failed.length)
    const errors = failed.map(({ error }) => error)
    const shown = changeTrace(trace, copyId, "fallback", errors)
    const answer = renderChoice({ ...input, request: { ...request, budget } }, copyId, trackingId, shown, false)!
    if (answer._tag === "Chosen") {
      return { answer: inPlaceOf(answer, errors), failed: failed.map(({ error: _, ...one }) => one) }
    }
    const { error } = answer as NotRenderedAnswer
    failed.push({ copyId, mode: "fallback", propensity: null, weights: null, error })
    left = left.filter((id) => id !== copyId)
  }
  return noneRendered(trackingId, failed)
}
