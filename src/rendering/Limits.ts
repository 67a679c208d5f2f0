/**
 * Limits of rendering. Nearly all are deterministic counts, so that equal sources and fields have equal results on slow
 * machines. The time limits are a second defence against work that costs more than its charge. Lengths are UTF-16 code
 * units.
 */

/** Maximum length of the source of one variable: text, HTML and Liquid. */
export { sourceLength } from "../domain/Template.ts"

/** Maximum nesting of tags, of brackets in an expression, and of arrays or objects that become text. */
export const nesting = 64

/** Maximum length of a rendered variable, and of a captured text. */
export const outputLength = 1_048_576

/** Maximum total length of the rendered variables of one variant. */
export const variantLength = 2_097_152

/** Maximum total length of the variants rendered for one request. A batch divides it evenly among its items. */
export const requestLength = 4_194_304

/**
 * Maximum number of steps for rendering one variant and checking its targeting. A step is one expression, tag, loop
 * iteration or compared value, or a piece of text with about that cost (100 ns).
 */
export const steps = 500_000

/** Maximum number of steps for all variants of one request. A batch divides them evenly among its items. */
export const requestSteps = 2_500_000

/** Maximum time for rendering one variant and checking its targeting. Unit: milliseconds. */
export const millis = 50

/** Maximum time for all variants of one request. A batch divides it evenly among its items. Unit: milliseconds. */
export const requestMillis = 500

/** Number of steps between two readings of the clock, which cost 200 ns each. Work with fewer steps never reads it. */
export const stepsPerReading = 4_096

/**
 * Maximum number of characters of Liquid, except the text around it, in all variables of a variant. Parsing them needs
 * up to 100 ms. Sources of the maximum length in which MJML puts Liquid into every row have 90,000.
 */
export const liquidLength = 131_072

/** Maximum length of a text that is read as a number. */
export const numberLength = 400

/** Maximum length of the strftime format of the `date` filters, and maximum width of padding in a format. */
export const dateFormatLength = 256
/** Maximum width of padding in a strftime format. */
export const datePadding = 64

/** Maximum number of undefined variables and other complaints reported for one variable in strict mode. */
export const complaints = 100
