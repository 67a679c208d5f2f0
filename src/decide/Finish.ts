import type { TemplateCache } from "../templates/TemplateCache.ts"
import { type Answer, withWarnings } from "./Answer.ts"
import type { DecideRequest } from "./DecideRequest.ts"
import type { RenderingCounts } from "./RenderingCounts.ts"
import { countRepeated } from "./RepeatedCount.ts"
import type { RequestNotices } from "./RequestNotices.ts"
import { unfilledIn, warningsOf } from "./RequestWarnings.ts"
import { countUnfilled, pathOf } from "./UnfilledCount.ts"

/** Services that finish every answer, regardless of how it was decided. */
interface FinishServices {
  readonly templateCache: TemplateCache["Service"]
  readonly renderings: RenderingCounts["Service"]
  readonly notices: RequestNotices["Service"]
}

/** The members of a request that are needed to finish its answer. */
export type FinishedRequest = Pick<DecideRequest, "attrs" | "placeholders" | "templateId">

/** Counts the answer to a request, and adds the warnings about the request. */
export const finish = <A extends Answer>(
  { notices, renderings, templateCache }: FinishServices,
  org: string,
  request: FinishedRequest,
  answer: A,
): A => {
  const { templateId } = request
  const view = templateCache.template(org, templateId)
  const unfilled = unfilledIn(view, request)
  const warnings = warningsOf(view, request, unfilled)
  if (unfilled !== undefined) {
    countUnfilled(unfilled)
    // Without a template, there is no page that shows the count.
    if (view !== undefined) notices.count("unfilled", org, templateId, unfilled.map(pathOf))
  }
  renderings.count(org, templateId, answer)
  if (answer.repeated !== undefined) {
    countRepeated()
    notices.count("repeated", org, templateId, answer.repeated)
  }
  return warnings === undefined ? answer : withWarnings(answer, warnings)
}
