import type { RecordedContext } from "../learning/ContextRecorder.ts"
import { localeIn, withLocale } from "../journal/decisions/DecisionLocale.ts"
import { hourMillis } from "../bandit/Window.ts"
import { holdoutText } from "../domain/Holdout.ts"
import type { TemplateView } from "../templates/TemplateCache.ts"
import type { PreparedRequest } from "./DecideRequest.ts"
import type { Decision, ExistingDecision } from "../journal/decisions/Decision.ts"
import type { StoredDecision } from "../journal/decisions/DecisionLog.ts"
import { type Answer, inPlaceOf } from "./Answer.ts"
import { renderChoice } from "./RenderChoice.ts"
import { withDifferences } from "./Repeats.ts"
import { changeTrace } from "./Selection.ts"
import type { TrackingAlias } from "../journal/decisions/TrackingAliases.ts"
import type { StickyChoice, StickyClaim } from "./StickyChoices.ts"

// A plan is a decision before it is stored: the answer for the caller, and the rows to store before the answer is
// returned. Pure.

/** A request for a template that can be served, at one moment. */
export interface PlanInput {
  readonly view: TemplateView
  readonly request: PreparedRequest
  /** The tracking id of the request, or a new one. */
  readonly trackingId: string
  readonly nowMillis: number
}

/** The response for a decision: a rendered variant, or no message. */
type Decided = Extract<Answer, { readonly _tag: "Chosen" | "NoMessage" }>

/** An answer with nothing to store: no decision was made, or it is stored already. */
export interface AnswerPlan {
  readonly _tag: "Answer"
  readonly answer: Answer
}

/** A new decision. */
export interface DecisionPlan {
  readonly _tag: "Decision"
  readonly input: PlanInput
  /** The answer if the decision is stored as planned. Otherwise see `applyStored` and `planRepeat`. */
  readonly answer: Decided
  /** The row for the decision log. */
  readonly decision: Decision
  /**
   * The rows of a sticky template: the proposal that the user keeps this variant, and its decision. Stored instead of
   * `decision`, unless the store is down.
   */
  readonly claim: StickyClaim | undefined
}

/** A sticky choice is repeated under another tracking id. */
export interface AliasPlan {
  readonly _tag: "Alias"
  readonly answer: Decided
  readonly alias: TrackingAlias
}

/** The answer to a request before its rows are stored. */
export type Plan = AnswerPlan | DecisionPlan | AliasPlan

/** Whether an answer belongs to a decision. */
export const isDecided = (answer: Answer): answer is Decided => answer._tag === "Chosen" || answer._tag === "NoMessage"

/** Returns the plan of an answer with nothing to store. */
export const answerPlan = (answer: Answer): AnswerPlan => ({ _tag: "Answer", answer })

/** Plans a new decision whose answer is rendered. */
export const planDecision = (
  input: PlanInput,
  answer: Decided,
  choice: Pick<Decision, "copyId" | "mode" | "propensity" | "weights" | "failed">,
  made: Pick<Decision, "policy"> & RecordedContext & {
    readonly hasHoldout: boolean
    /** The choice that the new one replaces. Only for sticky templates. */
    readonly replaces: StickyChoice | undefined
    /** Whether a user of a sticky template keeps the variant. Default: true unless the caller named the variant. */
    readonly isKept?: boolean
  },
): DecisionPlan => {
  const { nowMillis, request, trackingId, view } = input
  const decision: Decision = {
    org: view.org.slug,
    templateId: view.id,
    trackingId,
    trackingIdGiven: request.trackingId !== undefined && request.isNewId !== true,
    userId: request.userId,
    context: answer._tag === "Chosen" ? withLocale(made.context, answer.locale) : made.context,
    extraAttributes: made.extraAttributes,
    policy: made.policy,
    window: request.window,
    decidedAtMillis: nowMillis,
    copyId: choice.copyId,
    mode: choice.mode,
    propensity: choice.propensity,
    weights: choice.weights,
    holdout: made.hasHoldout ? holdoutText(view.holdout) : undefined,
    failed: choice.failed,
  }
  const { unsentId, userId } = request
  const stored = answer._tag === "NoMessage" && unsentId !== undefined
    ? { ...decision, trackingId: unsentId, trackingIdGiven: true }
    : decision
  const isSticky = view.stickyHours > 0 && userId !== undefined && choice.mode !== "forced" &&
    made.isKept !== false
  return {
    _tag: "Decision",
    input,
    answer,
    decision: stored,
    claim: isSticky
      ? {
        decision: { ...stored, userId },
        expiresAtMillis: nowMillis + view.stickyHours * hourMillis,
        replaces: made.replaces,
      }
      : undefined,
  }
}

/**
 * Plans to repeat a sticky choice. This is not a new decision: the tracking id of the request becomes an alias of the
 * first decision's. Answers that there is no candidate if the variant has been removed.
 */
export const planRepeat = (input: PlanInput, existing: StickyChoice, trace: unknown): AnswerPlan | AliasPlan => {
  const { request, view } = input
  const trackingId = request.trackingId === undefined ? existing.trackingId : input.trackingId
  const answer = renderChoice(input, existing.copyId, trackingId, trace, existing.control)
  if (answer === undefined) return answerPlan({ _tag: "None", trackingId, reason: "no-candidate" })
  if (trackingId === existing.trackingId || !isDecided(answer)) return answerPlan(answer)
  const alias = { org: view.org.slug, templateId: view.id, alias: trackingId, trackingId: existing.trackingId }
  return { _tag: "Alias", answer, alias }
}

/**
 * Plans again after another request has won the claim: the user gets the existing choice, with the numbers of this
 * request in the trace. If the existing choice cannot be rendered with these fields, the user gets the planned variant
 * for this request only.
 */
export const planExisting = (plan: DecisionPlan, existing: StickyChoice): Plan => {
  const { answer, decision, input } = plan
  const repeat = planRepeat(input, existing, changeTrace(answer.trace, existing.copyId, "sticky"))
  if (repeat.answer._tag !== "NotRendered" || answer._tag !== "Chosen") return repeat
  const { error } = repeat.answer
  const mode = decision.mode === "control" ? "control" : "fallback"
  const failed = [{ copyId: existing.copyId, mode: "sticky", propensity: null, weights: null } as const]
  return {
    ...plan,
    answer: inPlaceOf({ ...answer, trace: changeTrace(answer.trace, answer.copyId, "fallback", [error]) }, [error]),
    decision: { ...decision, mode, propensity: null, weights: null, failed },
    claim: undefined,
  }
}

/**
 * Returns the answer to a request whose tracking id already has a decision: its variant again, with `trace`, or the
 * reason for a refusal. `rendered` is the variant if it is rendered already. Undefined if the variant has been removed.
 */
export const answerRepeat = (
  input: PlanInput,
  existing: ExistingDecision,
  trace: unknown,
  rendered?: Answer,
): Answer | undefined => {
  const { request, trackingId } = input
  const { context, copyId } = existing
  const answer: Answer | undefined = request.copyId !== undefined && request.copyId !== copyId
    ? { _tag: "Reused", trackingId, forced: request.copyId, existing: copyId }
    : rendered ??
      renderChoice({ ...input, locale: localeIn(context) }, copyId, trackingId, trace, existing.mode === "control")
  return answer && withDifferences(answer, existing, request)
}

/**
 * Returns the answer to a plan whose decision is stored. If the tracking id has an earlier decision, the caller gets
 * its variant, or no candidate if the variant has been removed.
 */
export const applyStored = (
  { answer, decision, input }: DecisionPlan,
  { durable, existing }: StoredDecision,
): Answer => {
  if (existing === decision) return durable ? answer : { ...answer, durable }
  const { copyId } = existing
  const isSame = copyId === decision.copyId && localeIn(existing.context) === localeIn(decision.context)
  const trace = changeTrace(answer.trace, copyId, "retry")
  const settled = answerRepeat(input, existing, trace, isSame ? answer : undefined)
  if (settled === undefined) return { _tag: "None", trackingId: answer.trackingId, reason: "no-candidate" }
  return durable || !isDecided(settled) ? settled : { ...settled, durable }
}
