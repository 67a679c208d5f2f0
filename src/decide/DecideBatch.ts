import { Effect } from "effect"
import type { Attributes } from "../domain/Attributes.ts"
import type { TemplateId } from "../domain/Ids.ts"
import { liveOf } from "../domain/Sandbox.ts"
import type { BatchRequest, PreparedRequest } from "./DecideRequest.ts"
import type { Recorded } from "../journal/decisions/DecisionLog.ts"
import type { Answer } from "./Answer.ts"
import { type DecisionPlan, settlePlan } from "./Plan.ts"
import { makeBudget, planAt, type PlannerServices, type Planning, prepare } from "./Planner.ts"
import { storePlan } from "./StorePlan.ts"
import { Turn } from "./Turn.ts"

/** Whether a plan shares the commit of its batch. A sticky choice is claimed in a transaction of its own. */
const sharesCommit = (plan: Planning): plan is DecisionPlan =>
  !Effect.isEffect(plan) && plan._tag === "Decision" && plan.claim === undefined

/** The requests of a batch with their policies ready. */
const prepareItems = Effect.fnUntraced(function* (
  services: PlannerServices,
  org: string,
  batch: BatchRequest,
  attrs: Attributes,
) {
  const requests = batch.items.map((item): PreparedRequest => ({
    ...batch,
    ...item,
    attrs,
    budget: makeBudget(services, batch.items.length),
  }))
  const prepared = requests.map((request) => prepare(services, org, request))
  if (prepared.every((one) => one === undefined)) return requests
  return yield* Effect.forEach(prepared, (one, i) => one ?? Effect.succeed(requests[i]!), { concurrency: "unbounded" })
})

/** Plans the items in their order. Other requests get a turn between items that take long. */
const planItems = Effect.fnUntraced(function* (
  services: PlannerServices,
  org: string,
  requests: ReadonlyArray<PreparedRequest>,
  turn: Turn,
) {
  const plans: Array<Planning> = []
  for (const request of requests) {
    const now = services.clock.currentTimeMillisUnsafe()
    plans.push(planAt(services, org, request, turn.isOver(now) ? yield* turn.next : now))
  }
  return plans
})

/** Decides for every item of a batch. Their decisions share one commit. */
export const decideBatch = Effect.fnUntraced(function* (services: PlannerServices, org: string, batch: BatchRequest) {
  const known = services.profiles.attributes(liveOf(org), batch.userId, batch.attrs)
  const requests = yield* prepareItems(services, org, batch, known === undefined ? batch.attrs : yield* known)
  const turn = new Turn(services.clock)
  const plans = yield* planItems(services, org, requests, turn)
  const recorded: Iterator<Recorded> = (yield* services.log.recordAll(
    plans.filter(sharesCommit).map(({ decision }) => decision),
  )).values()
  const outcomes: Array<readonly [TemplateId, Answer]> = []
  for (const [index, plan] of plans.entries()) {
    // Answers to retries are rendered here.
    if (turn.isOver(services.clock.currentTimeMillisUnsafe())) yield* turn.next
    const outcome = sharesCommit(plan)
      ? settlePlan(plan, recorded.next().value)
      : yield* storePlan(services, Effect.isEffect(plan) ? yield* plan : plan)
    outcomes.push([batch.items[index]!.templateId, outcome])
  }
  for (const [template, outcome] of outcomes) services.renderings.count(org, template, outcome)
  return outcomes
})
