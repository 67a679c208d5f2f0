/** Which results are wanted. */
export interface ResultsOptions {
  /** Days the window reaches back from its end, 1 to 365; 14 where only the offset is given. */
  readonly lookbackDays?: number | undefined
  /** Days from the window's end to now, 0 to 365; 3 where only the look-back is given. */
  readonly offsetDays?: number | undefined
  /** Lowercase attribute values by name that everything is restricted to. */
  readonly segment?: ReadonlyMap<string, string> | undefined
}
