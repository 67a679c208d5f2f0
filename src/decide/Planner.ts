import type { RecordedContext } from "../learning/ContextRecorder.ts"
import { type Clock, Effect } from "effect"
import type { Context } from "../bandit/Contexts.ts"
import type { EligibleSet, Policy } from "../bandit/Policy.ts"
import type { CopyId } from "../domain/Ids.ts"
import { liveOf } from "../domain/Sandbox.ts"
import type { Policies } from "../learning/Policies.ts"
import type { Profiles } from "../profiles/Profiles.ts"
import { bounded } from "../store/bounded.ts"
import { Budget } from "../rendering/Budget.ts"
import { LimitReached } from "../rendering/LimitReached.ts"
import type { TemplateCache, TemplateView } from "../templates/TemplateCache.ts"
import type { DecideRequest, PreparedRequest } from "./DecideRequest.ts"
import { type ExistingDecision, noMessage } from "../journal/decisions/Decision.ts"
import type { DecisionLog } from "../journal/decisions/DecisionLog.ts"
import { type Arm, armOf } from "../bandit/Holdout.ts"
import { type Answer, targetingLimit } from "./Answer.ts"
import type { Draws } from "./Draws.ts"
import type { ExposureCounts } from "./ExposureCounts.ts"
import { answerPlan, answerRepeat, isDecided, type Plan, planDecision, type PlanInput, planRepeat } from "./Plan.ts"
import { type FailedChoice, renderFallback } from "./Fallback.ts"
import { renderChoice } from "./RenderChoice.ts"
import type { RenderingCounts } from "./RenderingCounts.ts"
import type { RequestNotices } from "./RequestNotices.ts"
import * as Selection from "./Selection.ts"
import type { StickyChoice, StickyChoices } from "./StickyChoices.ts"
import { makeTrackingId } from "../journal/decisions/TrackingId.ts"

// Plans the answer to a request. Reads the store only for people with profiles, sticky templates, retries, and
// templates with effects of fatigue in use.

/** The services from which plans are made. */
export interface PlannerServices {
  readonly templateCache: TemplateCache["Service"]
  readonly policies: Policies["Service"]
  readonly profiles: Profiles["Service"]
  readonly log: DecisionLog["Service"]
  readonly sticky: StickyChoices["Service"]
  readonly exposures: ExposureCounts["Service"]
  readonly renderings: RenderingCounts["Service"]
  readonly notices: RequestNotices["Service"]
  readonly clock: Clock.Clock
  /** A monotonic clock. Unit: milliseconds. */
  readonly monotonicNow: () => number
  readonly draws: Draws["Service"]
}

/** A plan, or an effect that returns it if something must be awaited. The hot path awaits nothing. */
export type Planning = Plan | Effect.Effect<Plan>

/** The policy that decides on a request, and the request's context in that policy. */
interface Basis {
  readonly policy: Policy
  readonly hourOfWeek: number
  readonly context: Context
}

/** A choice for the trace. `copyId` is null if no variant was chosen. */
interface Verdict {
  readonly copyId: CopyId | null
  readonly mode: string
  readonly propensity: number | null
}

const nothingChosen: Verdict = { copyId: null, mode: "none", propensity: null }

const basisOf = ({ policies }: PlannerServices, { nowMillis, request, view }: PlanInput): Basis => {
  const policy = request.policy ?? policies.policy(view, request.window, nowMillis)
  const hourOfWeek = Selection.hourOfWeek(view, nowMillis)
  return { policy, hourOfWeek, context: policy.contextOf(request.attrs, hourOfWeek) }
}

const findEligible = ({ nowMillis, request, view }: PlanInput): EligibleSet =>
  Selection.eligible(view, request.attrs, nowMillis, request.budget)

/** Returns the trace of a plan if the request asks for one. Throws `LimitReached` past the budget. */
const traceOf = (
  input: PlanInput,
  basis: Basis,
  { copyId, mode, propensity }: Verdict,
  epsilon: number | undefined,
  set?: EligibleSet,
): unknown => {
  const { nowMillis, request, view } = input
  if (request.trace !== true) return undefined
  return Selection.traceOf(view, basis.policy, basis.context, set ?? findEligible(input), {
    attrs: request.attrs,
    nowMillis,
    budget: request.budget,
    epsilon,
    seen: request.exposures,
    useCache: request.useCache ?? true,
    chosen: copyId === noMessage ? null : copyId,
    mode,
    propensity,
  })
}

/** Runs work that may throw `LimitReached` while targeting. Rendering returns its faults. */
const withinBudget = <A>(
  services: PlannerServices,
  input: PlanInput,
  run: (services: PlannerServices, input: PlanInput) => A,
): A | Plan => {
  const { request, trackingId, view } = input
  request.budget.resume()
  try {
    return run(services, input)
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error
    return answerPlan({ _tag: "NotRendered", trackingId, error: targetingLimit(view, error) })
  }
}

const recordContext = (
  { policies }: PlannerServices,
  { nowMillis, request, view }: PlanInput,
  { context, hourOfWeek, policy }: Basis,
): RecordedContext => policies.record(view, policy, context, request, hourOfWeek, nowMillis)

/** Plans the variant that the caller names. */
const planForced = (services: PlannerServices, input: PlanInput, copyId: CopyId): Plan => {
  const { trackingId, view } = input
  if (!view.variantsById.has(copyId)) return answerPlan({ _tag: "None", trackingId, reason: "variant-not-found" })
  const basis = basisOf(services, input)
  const choice = { copyId, mode: "forced", propensity: null, weights: null } as const
  const answer = renderChoice(input, copyId, trackingId, traceOf(input, basis, choice, undefined), false)!
  if (!isDecided(answer)) return answerPlan(answer)
  return planDecision(input, answer, choice, {
    ...recordContext(services, input, basis),
    policy: basis.policy.model.version,
    hasHoldout: false,
    replaces: undefined,
  })
}

/** The data by which a request is decided: the policy, the candidates, and the side of the holdout. */
interface Terms {
  readonly basis: Basis
  /** The eligible variants, without "send nothing". */
  readonly set: EligibleSet
  readonly arm: Arm | undefined
  readonly epsilon: number | undefined
  /** The user's sticky choice, and whether the new variant becomes the user's choice. */
  readonly existing: StickyChoice | undefined
  readonly isKept: boolean
}

/**
 * Plans another candidate in place of `first`, which could not be rendered. The policy draws it from the remaining
 * candidates. For a held-out user, the draw is even.
 */
const planFallback = (
  services: PlannerServices,
  input: PlanInput,
  { arm, basis, epsilon, isKept, set, existing }: Terms,
  first: FailedChoice,
  trace: unknown,
): Plan => {
  const { nowMillis, request, trackingId, view } = input
  const share = arm === "control" ? 1 : epsilon
  const fallback = renderFallback(input, set, first, (left, turn) => {
    const u = services.draws.draw(view, trackingId, turn)
    return Selection.draw(basis.policy, basis.context, left, share, u, request.exposures).copyId
  }, trace)
  if (!("failed" in fallback)) return answerPlan(fallback)
  services.policies.observe(view, request.attrs, nowMillis)
  const { answer, failed } = fallback
  const mode = arm === "control" ? "control" : "fallback"
  return planDecision(input, answer, { copyId: answer.copyId, mode, propensity: null, weights: null, failed }, {
    ...recordContext(services, input, basis),
    policy: basis.policy.model.version,
    hasHoldout: arm !== undefined,
    replaces: existing,
    isKept,
  })
}

/**
 * Plans to repeat the existing choice, or plans another candidate for this request only if the choice cannot be
 * rendered with these fields.
 */
const planAgain = (services: PlannerServices, input: PlanInput, terms: Terms, existing: StickyChoice): Plan => {
  const verdict = { copyId: existing.copyId, mode: "sticky", propensity: null } as const
  const trace = traceOf(input, terms.basis, verdict, terms.epsilon, terms.set)
  const plan = planRepeat(input, existing, trace)
  if (plan.answer._tag !== "NotRendered") return plan
  const first = { ...verdict, weights: null, error: plan.answer.error }
  return planFallback(services, input, { ...terms, isKept: false }, first, trace)
}

/** Selects a variant and renders it. Repeats the user's sticky choice if it is still allowed. */
const planSelected = (services: PlannerServices, input: PlanInput, existing: StickyChoice | undefined): Plan => {
  const { nowMillis, request, trackingId, view } = input
  const basis = basisOf(services, input)
  const set = findEligible(input)
  const arm = armOf(view.holdout, set.ids, { org: liveOf(view.org.slug), userId: request.userId, trackingId })
  const epsilon = arm === "control" && view.holdout.content === "even" ? 1 : request.epsilon
  if (set.ids.length === 0) {
    const trace = traceOf(input, basis, nothingChosen, epsilon, set)
    return answerPlan({ _tag: "None", trackingId, reason: "no-candidate", trace })
  }
  const candidates = arm === "control" ? set : Selection.withNothing(view, basis.policy, set)
  if (existing !== undefined && Selection.mayRepeat(view, arm, existing, candidates)) {
    return planAgain(services, input, { arm, basis, epsilon, isKept: true, set, existing }, existing)
  }
  // Requests with one `unsentId` repeat one request, and draw one number.
  const u = services.draws.draw(view, request.unsentId ?? trackingId, 0)
  const options = { arm, epsilon, u, seen: request.exposures }
  const choice = Selection.choose(view, basis.policy, basis.context, candidates, options)
  const trace = traceOf(input, basis, choice, epsilon, candidates)
  const answer = renderChoice(input, choice.copyId, trackingId, trace, choice.mode === "control")!
  if (answer._tag === "NotRendered") {
    const terms = { arm, basis, epsilon, isKept: true, set, existing }
    return planFallback(services, input, terms, { ...choice, error: answer.error }, trace)
  }
  if (!isDecided(answer)) return answerPlan(answer)
  services.policies.observe(view, request.attrs, nowMillis)
  return planDecision(input, answer, choice, {
    ...recordContext(services, input, basis),
    policy: basis.policy.model.version,
    hasHoldout: arm !== undefined,
    replaces: existing,
  })
}

/** Timeout of a read of an earlier decision or choice. A hung database would block a request for a minute. */
const readWithin = bounded("1 second")

/** Plans for a user of a sticky template, who keeps the earlier choice if there is one. */
const planSticky = (services: PlannerServices, input: PlanInput, userId: string): Effect.Effect<Plan> =>
  services.sticky.find(input.view.org.slug, input.view.id, userId).pipe(
    readWithin,
    // While the database is down, earlier choices are unknown. A new choice is better than no variant.
    Effect.catch(() => Effect.succeed(undefined)),
    Effect.map((existing) => withinBudget(services, input, () => planSelected(services, input, existing))),
  )

/** Returns the variant of an earlier decision again. Undefined if the variant has been removed. */
const planRetry = (services: PlannerServices, input: PlanInput, existing: ExistingDecision): Plan | undefined => {
  const verdict: Verdict = { copyId: existing.copyId, mode: "retry", propensity: null }
  const trace = input.request.trace === true
    ? traceOf(input, basisOf(services, input), verdict, input.request.epsilon)
    : undefined
  const answer = answerRepeat(input, existing, trace)
  return answer && answerPlan(answer)
}

/**
 * Returns the existing decision of a tracking id, regardless of present eligibility. Without one, evaluates
 * `otherwise`. Used only if the response would differ: the store detects retries too, so the hot path need not read the
 * database.
 */
const retryOr = (
  services: PlannerServices,
  input: PlanInput,
  otherwise: Effect.Effect<Plan>,
  id = input.trackingId,
): Effect.Effect<Plan> =>
  services.log.find(input.view.org.slug, input.view.id, id).pipe(
    readWithin,
    Effect.catch(() => Effect.succeed(undefined)),
    Effect.flatMap((existing) => {
      const plan = existing === undefined
        ? undefined
        : withinBudget(services, input, () => planRetry(services, input, existing))
      return plan === undefined ? otherwise : Effect.succeed(plan)
    }),
  )

const planInput = (services: PlannerServices, input: PlanInput): Planning => {
  const { copyId, unsentId } = input.request
  if (unsentId === undefined || copyId !== undefined || !input.view.sendsNothing) return planFirst(services, input)
  // The model may have changed since the request was first sent.
  const first = Effect.suspend(() => {
    const plan = withinBudget(services, input, planFirst)
    return Effect.isEffect(plan) ? plan : Effect.succeed(plan)
  })
  return retryOr(services, input, first, unsentId)
}

const planFirst = (services: PlannerServices, input: PlanInput): Planning => {
  const { copyId, isNewId, trackingId, userId } = input.request
  const mayBeRetry = trackingId !== undefined && isNewId !== true
  if (copyId !== undefined) return planForced(services, input, copyId)
  if (input.view.stickyHours > 0 && userId !== undefined) {
    const plan = planSticky(services, input, userId)
    return mayBeRetry ? retryOr(services, input, plan) : plan
  }
  const plan = planSelected(services, input, undefined)
  return mayBeRetry && plan._tag === "Answer" ? retryOr(services, input, Effect.succeed(plan)) : plan
}

const refused = (trackingId: string, reason: Extract<Answer, { readonly _tag: "None" }>["reason"]): Plan =>
  answerPlan({ _tag: "None", trackingId, reason })

/** Plans a prepared request. Returns an effect only if the store must be read. */
export const planAt = (
  services: PlannerServices,
  org: string,
  request: PreparedRequest,
  nowMillis: number,
): Planning => {
  const trackingId = request.trackingId ?? makeTrackingId(nowMillis)
  const view = services.templateCache.template(org, request.templateId)
  if (view === undefined) return refused(trackingId, "template-not-found")
  // Checked before retries and sticky choices, because an archived template serves nothing.
  if (view.archived) return refused(trackingId, "template-archived")
  const input: PlanInput = { view, request, trackingId, nowMillis }
  return withinBudget(services, input, planInput)
}

/** Makes the policy of a request ready. Undefined if it is ready already. */
const preparePolicy = (
  { policies }: PlannerServices,
  view: TemplateView,
  request: PreparedRequest,
  nowMillis: number,
): Effect.Effect<PreparedRequest> | undefined => {
  const { useCache, window } = request
  if (useCache === false) {
    return Effect.map(
      policies.refresh(view, window, nowMillis),
      ({ policy, upToDate }) => ({ ...request, policy, useCache: !upToDate }),
    )
  }
  return policies.isReady(view, window, nowMillis)
    ? undefined
    : Effect.map(policies.prepare(view, window!, nowMillis), (policy) => ({ ...request, policy }))
}

/** Reads the user's earlier decisions if the policy uses them. Undefined if there is nothing to read. */
const prepareExposures = (
  { exposures, policies }: PlannerServices,
  view: TemplateView,
  request: PreparedRequest,
  nowMillis: number,
): Effect.Effect<PreparedRequest> | undefined => {
  const { copyId, policy, userId, window } = request
  if (userId === undefined || copyId !== undefined) return undefined
  const { model } = policy ?? policies.policy(view, window, nowMillis)
  if (model.fatigue === undefined) return undefined
  return Effect.map(exposures.of(view.org.slug, userId, view.id), (exposures) => ({ ...request, exposures }))
}

/** Makes the policy of a request ready, and the counts that the policy uses. Undefined if both are ready already. */
export const prepare = (
  services: PlannerServices,
  org: string,
  request: PreparedRequest,
): Effect.Effect<PreparedRequest> | undefined => {
  const { clock, templateCache } = services
  const view = templateCache.template(org, request.templateId)
  if (view === undefined) {
    return Effect.flatMap(
      templateCache.lookUp(org, request.templateId),
      () =>
        (templateCache.template(org, request.templateId) && prepare(services, org, request)) ??
          Effect.succeed(request),
    )
  }
  if (view.archived) return undefined
  const now = clock.currentTimeMillisUnsafe()
  const prepared = preparePolicy(services, view, request, now)
  if (prepared === undefined) return prepareExposures(services, view, request, now)
  return Effect.flatMap(prepared, (ready) => prepareExposures(services, view, ready, now) ?? Effect.succeed(ready))
}

/** Creates the budget for one of `items` templates of a request. */
export const makeBudget = ({ monotonicNow }: PlannerServices, items: number): Budget => new Budget(items, monotonicNow)

/** Plans a request whose attributes are complete. */
const planPrepared = (services: PlannerServices, org: string, request: PreparedRequest): Planning => {
  const { clock } = services
  const prepared = prepare(services, org, request)
  if (prepared === undefined) return planAt(services, org, request, clock.currentTimeMillisUnsafe())
  return Effect.flatMap(prepared, (ready) => {
    const plan = planAt(services, org, ready, clock.currentTimeMillisUnsafe())
    return Effect.isEffect(plan) ? plan : Effect.succeed(plan)
  })
}

/** Plans a request for one template. */
export const planRequest = (services: PlannerServices, org: string, request: DecideRequest): Planning => {
  const budget = makeBudget(services, 1)
  const attrs = services.profiles.attributes(liveOf(org), request.userId, request.attrs)
  if (attrs === undefined) return planPrepared(services, org, { ...request, budget })
  return Effect.flatMap(attrs, (attrs) => {
    const plan = planPrepared(services, org, { ...request, attrs, ownAttrs: request.attrs, budget })
    return Effect.isEffect(plan) ? plan : Effect.succeed(plan)
  })
}
