/** Selects the decisions of results. */
export interface ResultsOptions {
  /** Length of the window in days, 1 to 365. Default if only the offset is given: 14. */
  readonly lookbackDays?: number | undefined
  /** Days from the window's end to now, 0 to 365. Default if only the look-back is given: 3. */
  readonly offsetDays?: number | undefined
  /** Lowercase attribute values by name to which results are restricted. */
  readonly segment?: ReadonlyMap<string, string> | undefined
}
