import type { EarlierDecisions, Policy } from "../bandit/Policy.ts"
import type { Attributes } from "../domain/Attributes.ts"
import type { CopyId, TemplateId } from "../domain/Ids.ts"
import type { Budget } from "../rendering/Budget.ts"
import type { Placeholder } from "../text/Placeholders.ts"
import type { LearningWindow } from "../domain/LearningWindow.ts"

/** A request for a variant of one template. */
export interface DecideRequest {
  readonly templateId: TemplateId
  readonly trackingId: string | undefined
  /**
   * Whether the service has just generated `trackingId`, so that no decision and no event can have it. Default: false.
   */
  readonly isNewId?: boolean | undefined
  readonly userId: string | undefined
  readonly fields: Readonly<Record<string, unknown>>
  readonly attrs: Attributes
  /** Unfilled placeholders of the request, for warnings. Undefined without any. */
  readonly placeholders?: ReadonlyArray<Placeholder> | undefined
  /** Forces this variant, without selection and targeting. */
  readonly copyId?: CopyId | undefined
  /** Send times to learn from. Default: adaptive. */
  readonly window?: LearningWindow | undefined
  /** Share of random decisions, in [0, 1]. Default: Thompson sampling. */
  readonly epsilon?: number | undefined
  /** False brings the model up to date before the decision. */
  readonly useCache?: boolean | undefined
  readonly trace?: boolean | undefined
  /**
   * Tracking id under which the decision is stored if the user gets no message. Repetitions of one request share it.
   * Default: `trackingId`.
   */
  readonly unsentId?: string | undefined
}

/** A request for a variant of each of several templates. */
export interface BatchRequest extends Pick<DecideRequest, "userId" | "fields" | "attrs" | "placeholders" | "epsilon"> {
  readonly items: ReadonlyArray<
    Pick<DecideRequest, "templateId" | "trackingId"> & { readonly copyId: CopyId | undefined }
  >
  /** The send times to learn from. */
  readonly window: LearningWindow
  readonly useCache: boolean
  readonly trace: boolean
}

/** A request with the attributes of its user's profile, its policy and its budget. */
export interface PreparedRequest extends DecideRequest {
  /** The attributes without the attributes of a profile. Default: `attrs`. */
  readonly ownAttrs?: Attributes | undefined
  /** Limits the work of targeting and rendering. */
  readonly budget: Budget
  /** A policy that was prepared for this request. Default: the published policy. */
  readonly policy?: Policy | undefined
  /** Earlier decisions about the user. Undefined if the policy does not use them, or they are unknown. */
  readonly exposures?: EarlierDecisions | undefined
}
