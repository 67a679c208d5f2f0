import { Effect } from "effect"
import type { BufferFull } from "../store/GroupCommit.ts"
import type { DecisionLog } from "../journal/decisions/DecisionLog.ts"
import type { Answer } from "./Answer.ts"
import { type AliasPlan, type AnswerPlan, applyStored, type DecisionPlan, type Plan, planExisting } from "./Plan.ts"
import type { StickyChoices, StickyClaim } from "./StickyChoices.ts"

/** The stores of plans. */
interface PlanStores {
  readonly log: DecisionLog["Service"]
  readonly sticky: StickyChoices["Service"]
}

const storeDecision = ({ log }: PlanStores, plan: DecisionPlan): Effect.Effect<Answer, BufferFull> =>
  Effect.map(log.record(plan.decision), (stored) => applyStored(plan, stored))

const storeRepeat = ({ log, sticky }: PlanStores, plan: AnswerPlan | AliasPlan): Effect.Effect<Answer> => {
  if (plan._tag === "Answer") return Effect.succeed(plan.answer)
  const notStored = Effect.succeed({ ...plan.answer, durable: false })
  return log.state().down ? notStored : sticky.alias(plan.alias).pipe(
    Effect.as(plan.answer),
    Effect.catch(() => notStored),
  )
}

const storeClaim = (
  stores: PlanStores,
  plan: DecisionPlan,
  claim: StickyClaim,
): Effect.Effect<Answer, BufferFull> =>
  Effect.matchEffect(stores.sticky.claim(claim), {
    // If the store is down, the decision is kept in memory like any other.
    onFailure: () => storeDecision(stores, plan),
    onSuccess: (existing) =>
      existing.trackingId === claim.decision.trackingId
        ? Effect.succeed(applyStored(plan, { existing: { ...plan.decision, copyId: existing.copyId }, durable: true }))
        : storePlan(stores, planExisting(plan, existing)),
  })

/**
 * Stores a plan and answers the request. A decision goes through the group commit, a claim of a sticky choice in its
 * own transaction. If an earlier decision exists, returns that decision instead of the plan.
 */
export const storePlan = (stores: PlanStores, plan: Plan): Effect.Effect<Answer, BufferFull> => {
  if (plan._tag !== "Decision") return storeRepeat(stores, plan)
  // If the store is known to be down, each claim would wait for its timeout.
  return plan.claim === undefined || stores.log.state().down
    ? storeDecision(stores, plan)
    : storeClaim(stores, plan, plan.claim)
}
