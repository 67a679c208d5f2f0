import { roundWeights, sample } from "../bandit/Weights.ts"
import { type Choice, type EarlierDecisions, type EligibleSet, eligibleSet, type Policy } from "../bandit/Policy.ts"
import type { Context } from "../bandit/Contexts.ts"
import { dayMillis, hourMillis } from "../bandit/Window.ts"
import type { Attributes } from "../domain/Attributes.ts"
import type { CopyId } from "../domain/Ids.ts"
import type { NotRendered } from "./Answer.ts"
import type { Budget } from "../rendering/Budget.ts"
import { type Decision, noMessage } from "../journal/decisions/Decision.ts"
import type { Arm } from "../bandit/Holdout.ts"
import { isEligible, type TemplateView, whyNotEligible } from "../templates/TemplateCache.ts"

// The synchronous core of a decision: the eligible variants, their weights, and the draw. No I/O.

/** Hours since Monday 00:00 on the organization's clocks, 0 to 167. 1970-01-01 was a Thursday. */
export const hourOfWeek = (view: TemplateView, nowMillis: number): number => {
  const local = nowMillis + view.org.localTime.offsetAt(nowMillis)
  return (Math.floor(local / dayMillis) + 3) % 7 * 24 + Math.floor(local / hourMillis) % 24
}

const setsOf = new WeakMap<TemplateView, Map<string | number, EligibleSet>>()

/**
 * Returns the variants of `view` that may be selected now, as a set for policies. Throws `LimitReached` past the
 * budget.
 */
export const eligible = (
  view: TemplateView,
  attrs: Attributes,
  nowMillis: number,
  budget: Budget,
): EligibleSet => {
  const { variants } = view
  // One bit per variant if they fit into a small integer, which is the cheapest possible key.
  let key: string | number
  if (variants.length <= 30) {
    let mask = 0
    for (let i = 0; i < variants.length; i++) {
      if (isEligible(variants[i]!, attrs, nowMillis, budget)) mask |= 1 << i
    }
    key = mask
  } else {
    key = variants.map((variant) => isEligible(variant, attrs, nowMillis, budget) ? "1" : "0").join("")
  }
  let sets = setsOf.get(view)
  if (sets === undefined) setsOf.set(view, sets = new Map())
  const known = sets.get(key)
  if (known !== undefined) return known
  // The number of combinations of attributes is unbounded, and a set is cheap to create again.
  if (sets.size >= 10_000) sets.clear()
  const chosen = typeof key === "number"
    ? variants.filter((_, i) => (key & (1 << i)) !== 0)
    : variants.filter((_, i) => key[i] === "1")
  const set = eligibleSet(chosen.map(({ id }) => id), String(key))
  sets.set(key, set)
  return set
}

const setsWithNothing = new WeakMap<EligibleSet, EligibleSet>()

/**
 * Returns the candidates of a choice: the eligible variants, and "send nothing" if the template may send nothing and the
 * policy knows what messages cost. Without an eligible variant, nothing is a candidate.
 */
export const withNothing = (view: TemplateView, policy: Policy, set: EligibleSet): EligibleSet => {
  if (!view.sendsNothing || policy.model.nothing === undefined || set.ids.length === 0) return set
  let all = setsWithNothing.get(set)
  // Keys of other sets do not end with this character.
  if (all === undefined) setsWithNothing.set(set, all = eligibleSet([noMessage, ...set.ids], `${set.key}+`))
  return all
}

/** A drawn candidate, and the data to record about the draw. */
interface Drawn {
  readonly copyId: CopyId
  readonly choice: Choice
  readonly context: Context
  readonly propensity: number
}

const roundedChoices = new WeakMap<Choice, Choice>()

/** Returns the choice with rounded weights, created once per cached choice. */
const rounded = (choice: Choice): Choice => {
  let known = roundedChoices.get(choice)
  if (known === undefined) roundedChoices.set(choice, known = { ...choice, weights: roundWeights(choice.weights) })
  return known
}

/**
 * Draws a candidate of `set`, which must not be empty, with the uniform number `u` in [0, 1). `seen` as in
 * `Policy.choice`.
 */
export const draw = (
  policy: Policy,
  context: Context,
  set: EligibleSet,
  epsilon: number | undefined,
  u: number,
  seen?: EarlierDecisions,
): Drawn => {
  const choice = rounded(policy.choice(context, set, epsilon, seen))
  const at = sample(choice.weights, u)
  return {
    copyId: set.ids[at]! as CopyId,
    choice,
    context,
    propensity: choice.weights[at]!,
  }
}

const weightTexts = new WeakMap<Choice, string>()

/** Returns the weights of all eligible variants as a JSON object, created once per cached choice. */
const weightsText = (choice: Choice): string => {
  let text = weightTexts.get(choice)
  if (text === undefined) {
    text = JSON.stringify(Object.fromEntries(choice.ids.map((id, i) => [id, choice.weights[i]!])))
    weightTexts.set(choice, text)
  }
  return text
}

/**
 * Returns the choice for a user on a side of the holdout (undefined without a holdout): the policy's choice, a uniform
 * one, a fixed variant, or no message. `set` must not be empty.
 */
export const choose = (
  view: TemplateView,
  policy: Policy,
  context: Context,
  set: EligibleSet,
  options: {
    readonly arm: Arm | undefined
    readonly epsilon: number | undefined
    readonly u: number
    readonly seen: EarlierDecisions | undefined
  },
): Pick<Decision, "copyId" | "mode" | "propensity" | "weights"> => {
  const isControl = options.arm === "control"
  if (isControl && view.holdout.content !== "even") {
    return { copyId: view.holdout.copy_id ?? noMessage, mode: "control", propensity: null, weights: null }
  }
  const epsilon = isControl ? 1 : options.epsilon
  const { choice, copyId, propensity } = draw(policy, context, set, epsilon, options.u, options.seen)
  return {
    copyId,
    mode: isControl ? "control" : choice.mode,
    propensity,
    weights: weightsText(choice),
  }
}

/** Whether a user's earlier choice may be repeated on this side of the holdout. */
export const mayRepeat = (
  { holdout }: Pick<TemplateView, "holdout">,
  arm: Arm | undefined,
  { copyId, control }: { readonly copyId: CopyId; readonly control: boolean },
  set: EligibleSet,
): boolean => {
  if (control !== (arm === "control")) return false
  return control && holdout.content !== "even" ? copyId === (holdout.copy_id ?? noMessage) : set.ids.includes(copyId)
}

const iso = (millis: number): string | null => Number.isFinite(millis) ? new Date(millis).toISOString() : null

/**
 * Changes a trace to show a variant other than the drawn one, with the numbers of this request. `failed` are the
 * variants that could not be rendered.
 */
export const changeTrace = (
  trace: unknown,
  chosen: CopyId,
  mode: "retry" | "sticky" | "fallback",
  failed: ReadonlyArray<NotRendered> = [],
): unknown => {
  if (trace === null || typeof trace !== "object") return undefined
  const { failed: _, ...rest } = trace as { readonly failed?: unknown }
  return {
    ...rest,
    mode,
    chosen: chosen === noMessage ? null : chosen,
    propensity: null,
    ...(failed.length === 0 ? {} : {
      failed: failed.map(({ copyId, faults }) => ({
        id: copyId,
        faults: faults.map(({ detail, variable }) => ({ variable, detail })),
      })),
    }),
  }
}

/**
 * Returns the content of `trace: true`: the numbers behind the decision, and for each other variant the reason why it
 * was excluded. Throws `LimitReached` past the budget.
 */
export const traceOf = (
  view: TemplateView,
  policy: Policy,
  context: Context,
  set: EligibleSet,
  options: {
    readonly attrs: Attributes
    readonly nowMillis: number
    readonly epsilon: number | undefined
    readonly seen: EarlierDecisions | undefined
    readonly useCache: boolean
    readonly chosen: CopyId | null
    readonly mode: string
    readonly propensity: number | null
    readonly budget: Budget
  },
) => {
  const trace = policy.trace(context, set, options.epsilon, options.seen)
  const { weights } = rounded(policy.choice(context, set, options.epsilon, options.seen))
  const out = view.variants.flatMap((variant) => {
    const reason = whyNotEligible(variant, options.attrs, options.nowMillis, options.budget)
    return reason === undefined ? [] : [{ id: variant.id, eligible: false, reason }]
  })
  return {
    mode: options.mode,
    policy_version: trace.policyVersion,
    cell: trace.context,
    window: {
      mode: trace.window.mode,
      lookback_days: trace.window.lookbackDays,
      offset_days: trace.window.offsetDays,
      from: iso(trace.window.from),
      to: iso(trace.window.to),
    },
    cache_used: options.useCache,
    epsilon: options.mode === "control" ? null : trace.epsilon,
    kappa: trace.kappa,
    floor: trace.floor,
    runner_up_floor: trace.runnerUpFloor,
    half_life_days: trace.halfLifeDays,
    base_rate: trace.baseRate,
    candidates: [
      ...trace.candidates.map((candidate, i) => ({
        id: candidate.id,
        eligible: true,
        sends: candidate.sends,
        effective_sends: candidate.effectiveSends,
        clicks: candidate.clicks,
        rate: candidate.rate,
        interval: candidate.interval,
        p_best: candidate.pBest,
        weight: weights[i]!,
      })),
      ...out,
    ],
    chosen: options.chosen,
    propensity: options.propensity,
  }
}
