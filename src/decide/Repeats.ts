import { roundNumber } from "../bandit/AttributeOutcomes.ts"
import { decodeContext, isInGroup, missingValue, otherValue, ownNames } from "../bandit/Contexts.ts"
import type { Attributes } from "../domain/Attributes.ts"
import { named, namedAtMost } from "../domain/WarningText.ts"
import type { ExistingDecision } from "../journal/decisions/Decision.ts"
import { type Answer, withWarnings } from "./Answer.ts"
import type { DecideRequest } from "./DecideRequest.ts"

// A repeated tracking id gets its first decision again. These functions distinguish a retry of an unchanged request
// from a request for another person or message, which needs its own decision. Pure.

/** The members of a request that its decision stores. */
export interface RepeatedRequest extends Pick<DecideRequest, "copyId" | "userId"> {
  /** The attributes, including the user's profile. */
  readonly attrs: Attributes
  /** The attributes without the attributes of a profile, which may change between two requests. Default: `attrs`. */
  readonly ownAttrs?: Attributes | undefined
}

/** Whether an attribute in the context of a decision contradicts the value in a request. */
const differs = (stored: string, value: string | undefined): boolean => {
  if (value === undefined || stored === missingValue) return stored !== missingValue || value !== undefined
  // `other` represents values that the model or the record does not list.
  return stored !== value && stored !== otherValue && stored !== roundNumber(value) && !isInGroup(stored, value)
}

/** Returns the names of attributes that differ from the stored attributes of a decision. */
const differingAttributes = (
  { context, extraAttributes }: ExistingDecision,
  { attrs, ownAttrs = attrs }: RepeatedRequest,
): ReadonlyArray<string> => {
  const stored = new Map([
    ...decodeContext(context),
    ...(extraAttributes === undefined ? [] : decodeContext(extraAttributes)),
  ])
  return [...stored].flatMap(([name, value]) =>
    ownNames.has(name) || (attrs.has(name) && !ownAttrs.has(name)) || !differs(value, attrs.get(name)?.[0])
      ? []
      : [name]
  )
}

/**
 * Returns the members of a request that differ from the existing decision of its tracking id, such as `user_id` and
 * `attrs.tier`. A decision without a user may belong to any user: its request named no user, or the user was erased.
 */
export const differingMembers = (existing: ExistingDecision, request: RepeatedRequest): ReadonlyArray<string> => {
  const members: Array<string> = []
  if (existing.userId !== undefined && existing.userId !== request.userId) members.push("user_id")
  if (request.copyId === undefined ? existing.mode === "forced" : existing.copyId !== request.copyId) {
    members.push("copy_id")
  }
  for (const name of differingAttributes(existing, request)) members.push(`attrs.${name}`)
  return members
}

/** Adds to the answer to a repeated tracking id the members that differ from its existing decision, with a warning. */
export const withDifferences = <A extends Answer>(
  answer: A,
  existing: ExistingDecision,
  request: RepeatedRequest,
): A => {
  const repeated = differingMembers(existing, request)
  if (repeated.length === 0) return answer
  const members = repeated.slice(0, namedAtMost).map(named).join(", ")
  return withWarnings({ ...answer, repeated }, [
    `the tracking id "${
      named(answer.trackingId)
    }" already has a decision, for a request with another ${members}, which is returned: ` +
    "use another tracking id for each message to each person",
  ])
}
