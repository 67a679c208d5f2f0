import type { ContextKey } from "../../bandit/Contexts.ts"
import type { CopyId, OrgSlug, TemplateId } from "../../domain/Ids.ts"
import type { LearningWindow } from "../../domain/LearningWindow.ts"

/**
 * How a variant was chosen: by the policy; by the caller's epsilon; as the only eligible variant; by the caller
 * (reported, but never learned from); as the control of a held-out user (`control`); or in place of a variant that could not be
 * rendered (`fallback`; reported, but never learned from).
 */
export const modes = ["bandit", "epsilon", "single", "forced", "control", "fallback"] as const
export type Mode = typeof modes[number]

/** Variant id in decisions of held-out users who get no message. No variant has this id. */
export const noMessage = "" as CopyId

/** A variant that was chosen for a decision and could not be rendered. */
export interface FailedRendering {
  readonly copyId: CopyId
  /** How it was chosen; `sticky`: the user had it before. */
  readonly mode: Mode | "sticky"
  /** Probability with which it was drawn; null where it was not drawn, or was drawn in place of another failed variant. */
  readonly propensity: number | null
  /** Probabilities of all eligible variants as a JSON object; null where `propensity` is. */
  readonly weights: string | null
}

/** One selection of one variant for one tracking id. */
export interface Decision {
  readonly org: OrgSlug
  readonly templateId: TemplateId
  readonly trackingId: string
  /** The caller's own, so that events under it may have come in before. */
  readonly trackingIdGiven: boolean
  /** `noMessage` if a held-out user gets no message. */
  readonly copyId: CopyId
  readonly userId: string | undefined
  readonly mode: Mode
  /**
   * Probability with which `copyId` was chosen, given the side of the holdout; null where nothing was drawn: when forced, for
   * people who are held out and get a fixed variant or no message, and in place of a variant that could not be rendered.
   */
  readonly propensity: number | null
  /** Probabilities of all eligible variants as a JSON object; null where `propensity` is. */
  readonly weights: string | null
  /**
   * The key of the context of the request: its values of the attributes that the adaptive model learns from, and of further
   * ones that a model may use later (see `Policies.record`).
   */
  readonly context: ContextKey
  /** Attributes of the request that the context lacks, or has as `other`, in the same form; absent without any. */
  readonly extraAttributes?: ContextKey | undefined
  /** Version of the model that decided. */
  readonly policy: string
  readonly window: LearningWindow | undefined
  /** The holdout in force, as `holdoutText` writes it, on whichever side the user is; undefined without one. */
  readonly holdout: string | undefined
  readonly decidedAtMillis: number
  /** Variants that were chosen before and could not be rendered, the first choice first; absent without any. */
  readonly failed?: ReadonlyArray<FailedRendering> | undefined
}

/** The facts that distinguish a retry of the first request from another request with its tracking id. */
export type ExistingDecision = Pick<Decision, "context" | "copyId" | "extraAttributes" | "mode" | "userId">
