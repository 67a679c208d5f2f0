import type { Run } from "./Run.ts"

/** The named arguments of a filter in a source, and the locale of the source, undefined if it is unknown. */
export interface FilterContext {
  readonly named: ReadonlySet<string>
  readonly locale: string | undefined
}

/**
 * A filter. It accepts values of any type and throws only `LimitReached`. It reports unusable values with
 * `Run.complain`, and returns its input or an empty value.
 */
export interface FilterEntry {
  /** Minimum number of arguments. */
  readonly needs: number
  /** Maximum number of arguments. Default: `needs`. Checked when a source is saved. */
  readonly takes?: number
  /** Names of named arguments. Default: none. Checked when a source is saved. */
  readonly named?: ReadonlyArray<string>
  /** Names of required named arguments. Default: none. Checked when a source is saved. */
  readonly requires?: ReadonlyArray<string>
  /**
   * Returns why literal arguments can never work, and what to write. Called when a source is saved. Arguments that are
   * known only when the source is rendered are undefined, and so is an input that is not a literal. `use` has the
   * named arguments, and the locale of the source if it is known.
   */
  readonly faultOf?: (
    args: ReadonlyArray<string | number | undefined>,
    input: string | number | undefined,
    use: FilterContext,
  ) => string | undefined
  /** Whether the input and the arguments may be `RichText`. Default: false, so that they are plain. */
  readonly rich?: boolean
  readonly apply: (
    input: unknown,
    args: ReadonlyArray<unknown>,
    run: Run,
    named: ReadonlyMap<string, unknown>,
  ) => unknown
}
