import type { EarlierDecisions, Policy } from "../bandit/Policy.ts"
import type { Attributes } from "../domain/Attributes.ts"
import type { CopyId, TemplateId } from "../domain/Ids.ts"
import type { Budget } from "../rendering/Budget.ts"
import type { Placeholder } from "../domain/Placeholders.ts"
import type { LearningWindow } from "../domain/LearningWindow.ts"

/** A request for a variant of one template. */
export interface DecideRequest {
  readonly templateId: TemplateId
  readonly trackingId: string | undefined
  /** The service has just made `trackingId`: no decision and no event can have it yet. Default: false. */
  readonly isNewId?: boolean | undefined
  readonly userId: string | undefined
  readonly fields: Readonly<Record<string, unknown>>
  readonly attrs: Attributes
  /** Places of the request that nobody filled in, for warnings. Undefined if all are filled in. */
  readonly placeholders?: ReadonlyArray<Placeholder> | undefined
  /** Forces this variant: skips selection and targeting. */
  readonly copyId?: CopyId | undefined
  /** Send times to learn from; undefined: adaptive. */
  readonly window?: LearningWindow | undefined
  /** In [0, 1]; undefined: Thompson sampling. */
  readonly epsilon?: number | undefined
  /** False brings the model up to date first. */
  readonly useCache?: boolean | undefined
  readonly trace?: boolean | undefined
  /**
   * Tracking id that the decision is stored under if the user gets no message. Repetitions of one request have the same.
   * Default: `trackingId`.
   */
  readonly heldOutId?: string | undefined
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
  /** The attributes without those of a profile. Default: `attrs`. */
  readonly ownAttrs?: Attributes | undefined
  /** Limits the work of targeting and rendering. */
  readonly budget: Budget
  /** A policy that was prepared for this request. Without one the published policy decides. */
  readonly policy?: Policy | undefined
  /** Earlier decisions about the user, if the policy uses them and they are known. */
  readonly exposures?: EarlierDecisions | undefined
}
