/** Most warnings of one response from one cause, and characters of a name in them. */
export const namedAtMost = 10
const nameLength = 40

/** A name in characters that a header can carry, without the separator of warnings. */
export const shown = (name: string): string => name.slice(0, nameLength).replace(/[^\x21-\x7e]|["\\;]/g, "?")
