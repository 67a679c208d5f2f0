import type { ContextKey } from "../../bandit/Contexts.ts"
import type { CopyId, OrgSlug, TemplateId } from "../../domain/Ids.ts"
import { nothing } from "../../domain/SendNothing.ts"
import type { LearningWindow } from "../../domain/LearningWindow.ts"

/**
 * How a variant was chosen: `bandit`, by the policy; `epsilon`, by the request's epsilon; `single`, as the only
 * eligible variant; `forced`, by the caller; `control`, for a user in the holdout; `fallback`, instead of a variant
 * that could not be rendered. Decisions with `forced` and `fallback` are reported, but never learned from.
 */
export const modes = ["bandit", "epsilon", "single", "forced", "control", "fallback"] as const
/** How the variant of a decision was chosen. */
export type Mode = typeof modes[number]

/**
 * Variant id in decisions without a message: of users in the holdout (mode `control`), and where the policy chose to
 * send nothing. No variant has this id.
 */
export const noMessage = nothing as CopyId

/** Why a decision has no message: the user is held out, or the policy chose to send nothing. */
export const noMessageReasons = ["held-out", "send-nothing"] as const
export type NoMessageReason = typeof noMessageReasons[number]

/** Returns the reason of a decision for `noMessage`, given whether the user is held out. */
export const noMessageReason = (isControl: boolean): NoMessageReason => isControl ? "held-out" : "send-nothing"

/** A variant that was chosen for a decision and could not be rendered. */
export interface FailedRendering {
  readonly copyId: CopyId
  /** How it was chosen. `sticky`: by an earlier decision of the user. */
  readonly mode: Mode | "sticky"
  /** Probability with which it was drawn. Null if it was not drawn, or was drawn instead of another failed variant. */
  readonly propensity: number | null
  /** Probabilities of all eligible variants as a JSON object; null if `propensity` is null. */
  readonly weights: string | null
}

/** One selection of one variant for one tracking id. */
export interface Decision {
  readonly org: OrgSlug
  readonly templateId: TemplateId
  readonly trackingId: string
  /** Whether the caller supplied the tracking id. Then events may have arrived before the decision. */
  readonly trackingIdGiven: boolean
  /** `noMessage` if the user receives no message. */
  readonly copyId: CopyId
  readonly userId: string | undefined
  readonly mode: Mode
  /**
   * Probability with which `copyId` was drawn, given the user's side of the holdout. Null if no variant was drawn: for
   * `forced`, for users in the holdout who get a fixed variant or no message, and for `fallback`.
   */
  readonly propensity: number | null
  /** Probabilities of all eligible variants as a JSON object; null if `propensity` is null. */
  readonly weights: string | null
  /**
   * Key of the request's context: the attributes that the adaptive model learns from, and other attributes that a model
   * may use later (see `Policies.record`).
   */
  readonly context: ContextKey
  /**
   * Attributes of the request that the context does not contain, or contains as `other`, in the form of a context key.
   * Absent without such attributes.
   */
  readonly extraAttributes?: ContextKey | undefined
  /** Version of the model that decided. */
  readonly policy: string
  readonly window: LearningWindow | undefined
  /** The holdout in effect, as text of `holdoutText`, for users on both sides; undefined without a holdout. */
  readonly holdout: string | undefined
  readonly decidedAtMillis: number
  /** Variants that were chosen first and could not be rendered, first choice first; absent without such variants. */
  readonly failed?: ReadonlyArray<FailedRendering> | undefined
}

/** The fields that distinguish a retry of the first request from another request with its tracking id. */
export type ExistingDecision = Pick<Decision, "context" | "copyId" | "extraAttributes" | "mode" | "userId">
