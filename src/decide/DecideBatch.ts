import { Effect } from "effect"
import type { Attributes } from "../domain/Attributes.ts"
import type { TemplateId } from "../domain/Ids.ts"
import { liveOf } from "../domain/Sandbox.ts"
import type { BatchRequest, PreparedRequest } from "./DecideRequest.ts"
import type { StoredDecision } from "../journal/decisions/DecisionLog.ts"
import type { Answer } from "./Answer.ts"
import { applyStored, type DecisionPlan } from "./Plan.ts"
import { makeBudget, planAt, type PlannerServices, type Planning, prepare } from "./Planner.ts"
import { finish } from "./Finish.ts"
import { storePlan } from "./StorePlan.ts"
import { TimeSlice } from "./TimeSlice.ts"

/** The answers of a batch, in the order of its items. */
export type BatchAnswers = ReadonlyArray<readonly [TemplateId, Answer]>

/** A batch in progress: its requests, and the plans of the first of them, in order. */
interface Progress {
  readonly requests: ReadonlyArray<PreparedRequest>
  readonly plans: Array<Planning>
  readonly slice: TimeSlice
}

/** Whether a plan shares the commit of its batch. A sticky choice is claimed in its own transaction. */
const sharesCommit = (plan: Planning): plan is DecisionPlan =>
  !Effect.isEffect(plan) && plan._tag === "Decision" && plan.claim === undefined

const requestsOf = (
  services: PlannerServices,
  batch: BatchRequest,
  attrs: Attributes,
): ReadonlyArray<PreparedRequest> => {
  const { attrs: ownAttrs, epsilon, fields, items, placeholders, trace, useCache, userId, window } = batch
  // Named members instead of a spread, which takes longer for each item.
  return items.map(({ copyId, templateId, trackingId }) => ({
    templateId,
    trackingId,
    copyId,
    userId,
    fields,
    attrs,
    ownAttrs,
    placeholders,
    window,
    epsilon,
    useCache,
    trace,
    budget: makeBudget(services, items.length),
  }))
}

/** Returns the requests of a batch with their policies ready. */
const prepareItems = Effect.fnUntraced(function* (
  services: PlannerServices,
  org: string,
  batch: BatchRequest,
  attrs: Attributes,
) {
  const requests = requestsOf(services, batch, attrs)
  const prepared = requests.map((request) => prepare(services, org, request))
  if (prepared.every((one) => one === undefined)) return requests
  return yield* Effect.forEach(prepared, (one, i) => one ?? Effect.succeed(requests[i]!), { concurrency: "unbounded" })
})

/** Plans items in order until the time slice is over, or all are planned. */
const planSlice = (services: PlannerServices, org: string, { plans, requests, slice }: Progress): void => {
  while (plans.length < requests.length) {
    const now = services.clock.currentTimeMillisUnsafe()
    if (slice.isOver(now)) return
    plans.push(planAt(services, org, requests[plans.length]!, now))
  }
}

const finishAll = (
  services: PlannerServices,
  org: string,
  { attrs, placeholders }: BatchRequest,
  answers: BatchAnswers,
): BatchAnswers =>
  answers.map(([templateId, answer]) => [
    templateId,
    finish(services, org, { attrs, placeholders, templateId }, answer),
  ])

/** Plans the rest of a batch and stores it. Other requests can run between expensive items. */
const finishBatch = Effect.fnUntraced(function* (
  services: PlannerServices,
  org: string,
  batch: BatchRequest,
  progress: Progress,
) {
  const { plans, requests, slice } = progress
  for (;;) {
    planSlice(services, org, progress)
    if (plans.length === requests.length) break
    yield* slice.next
  }
  const stored: Iterator<StoredDecision> = (yield* services.log.recordAll(
    plans.filter(sharesCommit).map(({ decision }) => decision),
  )).values()
  const answers: Array<readonly [TemplateId, Answer]> = []
  for (const [index, plan] of plans.entries()) {
    // Answers to retries are rendered here.
    if (slice.isOver(services.clock.currentTimeMillisUnsafe())) yield* slice.next
    const answer = sharesCommit(plan)
      ? applyStored(plan, stored.next().value)
      : yield* storePlan(services, Effect.isEffect(plan) ? yield* plan : plan)
    answers.push([requests[index]!.templateId, answer])
  }
  return finishAll(services, org, batch, answers)
})

/** Decides for every item of a batch. Their decisions share one commit. */
export const decideBatch = Effect.fnUntraced(function* (services: PlannerServices, org: string, batch: BatchRequest) {
  const known = services.profiles.attributes(liveOf(org), batch.userId, batch.attrs)
  const requests = yield* prepareItems(services, org, batch, known === undefined ? batch.attrs : yield* known)
  return yield* finishBatch(services, org, batch, { requests, plans: [], slice: new TimeSlice(services.clock) })
})
