import type { TemplateCache } from "../templates/TemplateCache.ts"
import { type Answer, withWarnings } from "./Answer.ts"
import type { DecideRequest } from "./DecideRequest.ts"
import type { RenderingCounts } from "./RenderingCounts.ts"
import { warningsOf } from "./RequestWarnings.ts"

/** Services that every answer passes, whichever way it was decided. */
export interface FinishServices {
  readonly templateCache: TemplateCache["Service"]
  readonly renderings: RenderingCounts["Service"]
}

/** What the answer to a request is finished with. */
export type FinishedRequest = Pick<DecideRequest, "attrs" | "placeholders" | "templateId">

/** Counts the answer to a request, and adds what the request is warned of. */
export const finish = <A extends Answer>(
  { renderings, templateCache }: FinishServices,
  org: string,
  request: FinishedRequest,
  answer: A,
): A => {
  const { templateId } = request
  const warnings = warningsOf(templateCache.template(org, templateId), request)
  renderings.count(org, templateId, answer)
  return warnings === undefined ? answer : withWarnings(answer, warnings)
}
