// Length of a text as SMS: its encoding and the number of messages that a network sends for it. 3GPP TS 23.038 defines
// the alphabet, 3GPP TS 23.040 the header of concatenated messages. Pure.

/** Characters of the GSM 7-bit default alphabet: one septet each. */
const basic = new Set(
  "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿" +
    "abcdefghijklmnopqrstuvwxyzäöñüà",
)

/** Characters of the extension table: an escape and the character, two septets. */
const extension = new Set("\f^{}\\[~]|€")

/** Septets of a GSM 7-bit message, and 16-bit units of a UCS-2 message: alone, and as a part of several. */
const capacities = { "GSM-7": { single: 160, part: 153 }, "UCS-2": { single: 70, part: 67 } } as const

/** The length of a text as SMS. */
export interface SmsLength {
  readonly encoding: keyof typeof capacities
  /** Septets (GSM-7) or 16-bit units (UCS-2). */
  readonly units: number
  /** Number of messages. 0 for an empty text. */
  readonly segments: number
  /** The distinct characters that GSM-7 does not have, in order of their first occurrence. */
  readonly foreign: ReadonlyArray<string>
}

/** Returns the length of a text as SMS. An escape sequence or a surrogate pair is never divided between messages. */
export const smsLength = (text: string): SmsLength => {
  const characters = [...text]
  const foreign = [...new Set(characters.filter((character) => !basic.has(character) && !extension.has(character)))]
  const encoding = foreign.length === 0 ? "GSM-7" : "UCS-2"
  const unitsOf = (character: string) => encoding === "UCS-2" ? character.length : extension.has(character) ? 2 : 1
  const units = characters.reduce((sum, character) => sum + unitsOf(character), 0)
  const { part, single } = capacities[encoding]
  if (units <= single) return { encoding, units, segments: units === 0 ? 0 : 1, foreign }
  let segments = 1
  let used = 0
  for (const character of characters) {
    const more = unitsOf(character)
    if (used + more > part) {
      segments++
      used = 0
    }
    used += more
  }
  return { encoding, units, segments, foreign }
}
