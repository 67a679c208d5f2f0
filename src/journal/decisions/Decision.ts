import type { ContextKey } from "../../bandit/Contexts.ts"
import type { CopyId, OrgSlug, TemplateId } from "../../domain/Ids.ts"
import type { LearningWindow } from "../../domain/LearningWindow.ts"

/**
 * How a variant was chosen: by the policy; by the caller's epsilon; as the only eligible variant; by the caller
 * (reported, but never learned from); or as the control of a held-out user (`control`).
 */
export type Mode = "bandit" | "epsilon" | "single" | "forced" | "control"

/** Variant id in decisions of held-out users who get no message. No variant has this id. */
export const noMessage = "" as CopyId

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
   * Probability with which `copyId` was chosen, given the side of the holdout; null where nothing was drawn: when forced,
   * and for people who are held out and get a fixed variant or no message.
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
  readonly further?: ContextKey | undefined
  /** Version of the model that decided. */
  readonly policy: string
  readonly window: LearningWindow | undefined
  /** The holdout in force, as `holdoutText` writes it, on whichever side the user is; undefined without one. */
  readonly holdout: string | undefined
  readonly decidedAtMillis: number
}
