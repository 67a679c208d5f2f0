// Texts whose hashes collide in V8's tables. Deno's V8 hashes integer-like strings of up to 10 digits by their value. All other
// strings are hashed with a seed that is part of Deno's executable file and therefore the same in every process.

/** The text of an integer below 2^32 - 1, whose hash has the same last 13 bits as all others of this kind. */
export const integerText = (index: number): string => String(8192 * (index + 1))

/** One of the secrets that V8 derives from the seed, in Deno 2.9.6, as eight Latin-1 characters. */
const secret = "\x65\x5c\x4d\x99\x39\x9a\x96\x69"

/**
 * A text of 20 characters, which has the same hash as all others of this kind: V8 multiplies by a word that is 0 where the
 * characters from the sixteenth last to the ninth last equal the secret (rapidhash). Another version of Deno has another
 * secret. To find it, search the memory of a process for 24 bytes that have four bits set each.
 */
export const seededText = (index: number): string => `${index.toString(36).padStart(4, "0")}${secret}01234567`

/** The JSON of `integerText` with its first digit as an escape: V8 sees the same text. */
export const escapedText = (index: number): string => {
  const text = integerText(index)
  return `"\\u003${text[0]}${text.slice(1)}"`
}
