/**
 * Limits of rendering. Nearly all are deterministic counts, so that the same source and fields give the same result on
 * slow machines. The time limits are a second defence against work that costs more than its charge. Lengths are UTF-16
 * code units.
 */

/** Longest Liquid source of one variable. Parsing is not linear in it. */
export const sourceLength = 65_536

/** Deepest nesting of tags, of brackets in an expression, and of arrays or objects that become text. */
export const nesting = 64

/** Longest rendered variable, and longest captured text. */
export const outputLength = 1_048_576

/** Longest sum of all rendered variables of one variant. */
export const variantLength = 2_097_152

/** Longest sum of all variants rendered for one request; a batch divides it evenly among its items. */
export const requestLength = 4_194_304

/**
 * Most steps for rendering one variant and checking who it is for. A step is one expression, tag, loop round or compared
 * value, or a stretch of text that takes about as long (100 ns).
 */
export const steps = 500_000

/** Most steps for all variants of one request; a batch divides them evenly among its items. */
export const requestSteps = 2_500_000

/** Longest time for rendering one variant and checking who it is for. Unit: milliseconds. */
export const millis = 50

/** Longest time for all variants of one request; a batch divides it evenly among its items. Unit: milliseconds. */
export const requestMillis = 500

/** Steps between two readings of the clock, which takes 200 ns. Work of fewer steps never reads it. */
export const stepsPerReading = 4_096

/** Most characters of Liquid, text around it not counted, in all variables of a variant: parsing them takes up to 50 ms. */
export const liquidLength = 65_536

/** Longest text that is read as a number. */
export const numberLength = 400

/** Longest strftime format of the `date` filters, and widest padding in one. */
export const dateFormatLength = 256
export const datePadding = 64

/** Most undefined variables and other complaints reported for one variable in strict mode. */
export const complaints = 100
