import type { Run } from "./Run.ts"

/**
 * A filter. It accepts values of any type and throws only `LimitReached`. It reports unusable values with
 * `Run.complain`, and returns its input or an empty value.
 */
export interface FilterEntry {
  /** Minimum number of arguments. */
  readonly needs: number
  /** Whether the input and the arguments may be `RichText`. Default: false, so that they are plain. */
  readonly rich?: boolean
  readonly apply: (
    input: unknown,
    args: ReadonlyArray<unknown>,
    run: Run,
    named: ReadonlyMap<string, unknown>,
  ) => unknown
}
