/** Which send times a decision learns from: `undefined` for all of them, faded by age. Unit: days. */
export interface DecisionWindow {
  readonly lookbackDays: number
  readonly offsetDays: number
}
