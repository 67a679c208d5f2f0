import { Clock, Context, Effect, Layer } from "effect"
import { Policies } from "../learning/Policies.ts"
import { Profiles } from "../profiles/Profiles.ts"
import type { BufferFull } from "../store/GroupCommit.ts"
import { TemplateCache } from "../templates/TemplateCache.ts"
import { type BatchAnswers, decideBatch } from "./DecideBatch.ts"
import type { BatchRequest, DecideRequest } from "./DecideRequest.ts"
import { DecisionLog } from "../journal/decisions/DecisionLog.ts"
import type { Answer } from "./Answer.ts"
import { Draws } from "./Draws.ts"
import { ExposureCounts } from "./ExposureCounts.ts"
import type { Plan } from "./Plan.ts"
import { type PlannerServices, planRequest } from "./Planner.ts"
import { StickyChoices } from "./StickyChoices.ts"
import { RenderingCounts } from "./RenderingCounts.ts"
import { RequestNotices } from "./RequestNotices.ts"
import { finish, type FinishedRequest } from "./Finish.ts"
import { storePlan } from "./StorePlan.ts"

/** Chooses a variant and renders it: the use case behind Generate, Batch generate and Deliver. */
export class Decider extends Context.Service<Decider, {
  /** Chooses and renders. Stores nothing and counts nothing, which is the caller's task. */
  readonly plan: (org: string, request: DecideRequest) => Effect.Effect<Plan>
  /**
   * Stores a plan without other effects. Returns the answer of the existing decision of the tracking id, or of the
   * plan. Fails with `BufferFull` if too many writes are waiting for the database, or it has been down for too long.
   */
  readonly store: (plan: Plan) => Effect.Effect<Answer, BufferFull>
  /** Counts the answer to a request, and returns it with the warnings about the request. */
  readonly finish: <A extends Answer>(org: string, request: FinishedRequest, answer: A) => A
  /**
   * Plans, stores the plan and counts the outcome. Fails with `BufferFull` if too many writes are waiting for the
   * database, or it has been down for too long.
   */
  readonly decide: (org: string, request: DecideRequest) => Effect.Effect<Answer, BufferFull>
  /**
   * Decides for several templates: one outcome for each item, in their order. No item affects another one. Fails with
   * `BufferFull` if too many writes are waiting for the database, or it has been down for too long.
   */
  readonly decideBatch: (
    org: string,
    request: BatchRequest,
  ) => Effect.Effect<BatchAnswers, BufferFull>
}>()("parlance/decide/Decider") {
  static readonly layer = Layer.effect(
    Decider,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const services: PlannerServices = {
        templateCache: yield* TemplateCache,
        log: yield* DecisionLog,
        policies: yield* Policies,
        profiles: yield* Profiles,
        sticky: yield* StickyChoices,
        exposures: yield* ExposureCounts,
        renderings: yield* RenderingCounts,
        notices: yield* RequestNotices,
        clock,
        monotonicNow: () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6,
        draws: yield* Draws,
      }

      return Decider.of({
        plan: (org, request) =>
          Effect.suspend(() => {
            const plan = planRequest(services, org, request)
            return Effect.isEffect(plan) ? plan : Effect.succeed(plan)
          }),
        store: (plan) => storePlan(services, plan),
        finish: (org, request, answer) => finish(services, org, request, answer),
        decide: (org, request) =>
          Effect.suspend(() => {
            const plan = planRequest(services, org, request)
            return Effect.map(
              Effect.isEffect(plan)
                ? Effect.flatMap(plan, (plan) => storePlan(services, plan))
                : storePlan(services, plan),
              (answer) => finish(services, org, request, answer),
            )
          }),
        decideBatch: (org, request) => decideBatch(services, org, request),
      })
    }),
  )
}
