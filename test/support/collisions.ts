// Texts whose hashes collide in V8's tables. Deno's V8 hashes integer-like strings of up to 10 digits by their value.
// All other strings are hashed with a seed in Deno's executable file, which is therefore equal in every process.

/** Returns the text of an integer below 2^32 - 1. All such texts have hashes with equal last 13 bits. */
export const integerText = (index: number): string => String(8192 * (index + 1))

/** One of the secrets that V8 derives from the seed, in Deno 2.9.6, as eight Latin-1 characters. */
const secret = "\x65\x5c\x4d\x99\x39\x9a\x96\x69"

/**
 * Returns a text of 20 characters. All such texts have one hash: V8 multiplies by a word that is 0 if the characters
 * from the sixteenth last to the ninth last equal the secret (rapidhash). Another version of Deno has another secret.
 * To find it, search the memory of a process for 24 bytes that each have four bits set.
 */
export const seededText = (index: number): string => `${index.toString(36).padStart(4, "0")}${secret}01234567`

/** Returns the JSON of `integerText` with its first digit as an escape, which V8 decodes to an equal text. */
export const escapedText = (index: number): string => {
  const text = integerText(index)
  return `"\\u003${text[0]}${text.slice(1)}"`
}
