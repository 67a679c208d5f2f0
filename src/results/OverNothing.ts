import type { ReportAnswer } from "../bandit/Report.ts"
import { nothing } from "../domain/SendNothing.ts"
import type { TemplateResults, VariantResults } from "./TemplateResults.ts"

/** Returns the comparison of the best variant with sending nothing, in the shape of the API's response. */
export const overNothingOf = (
  { best, probability, ...lift }: NonNullable<ReportAnswer["overall"]["overNothing"]>,
  variants: ReadonlyArray<VariantResults>,
): NonNullable<TemplateResults["send_nothing"]> => {
  const unsent = variants.find(({ copy_id }) => copy_id === nothing)
  // Without an outcome, the rate is the model's prior, which is above 0 in any case.
  const hasLift = (unsent?.raw_rate ?? 0) > 0 && (unsent?.interval?.[0] ?? 0) > 0
  return {
    copy_id: best,
    difference: lift.difference,
    difference_interval: lift.differenceInterval,
    value: hasLift ? lift.value : null,
    interval: hasLift ? lift.interval : null,
    probability,
    share: unsent?.share ?? 0,
  }
}
