/**
 * What one variant may cost. All figures are deterministic counts, not times: the same source and fields end the same
 * way on a slow machine. Lengths are UTF-16 code units.
 */

/** Longest Liquid source of one variable. Parsing is not linear in it. */
export const sourceLength = 65_536

/** Deepest nesting of tags, of brackets in an expression, and of arrays or objects that become text. */
export const nesting = 64

/** Longest rendered variable, and longest captured text. */
export const outputLength = 1_048_576

/** Longest sum of all rendered variables of one variant. */
export const variantLength = 2_097_152

/**
 * Work of rendering one variant: a step is one expression, tag, loop round or compared value, or a stretch of text that
 * takes about as long (some 100 ns). The most expensive templates known take under 100 ms for all of it.
 */
export const steps = 500_000

/** Longest strftime format of the `date` filters, and widest padding in one. */
export const dateFormatLength = 256
export const datePadding = 64

/** Most undefined variables and other complaints reported for one variable in strict mode. */
export const complaints = 100
