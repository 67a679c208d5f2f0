/** Most warnings of one response from one cause, and characters of a name in them. */
export const namedAtMost = 10
const nameLength = 40

/** A name or value in characters that a header can carry, without the separator of warnings. */
export const named = (name: string): string => name.slice(0, nameLength).replace(/[^\x20-\x7e]|["\\;]/g, "?")
