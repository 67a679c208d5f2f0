import { textOfUtf8 } from "./Utf8.ts"

// Finds UTF-8 that was read as Windows-1252 and encoded again: `GrÃ¼ÃŸe` for `Grüße`.

/** A part of a text that was encoded twice. */
export interface DoubleEncoding {
  /** Begins at 1. */
  readonly line: number
  /** Begins at 1. Unit: UTF-16 code units. */
  readonly column: number
  readonly written: string
  readonly meant: string
}

/** The bytes of the characters of Windows-1252 other than ASCII. */
const bytes: ReadonlyMap<string, number> = new Map(
  Array.from({ length: 128 }, (_, index) => index + 128)
    .map((byte) => [new TextDecoder("windows-1252").decode(Uint8Array.of(byte)), byte]),
)

const meantBy = (written: string): string | undefined => {
  const meant = textOfUtf8(Uint8Array.from(written, (character) => bytes.get(character) ?? 0))
  return meant === undefined || /[\0-\u009f]/.test(meant) ? undefined : meant
}

/**
 * Returns the first part of a text that was certainly encoded twice, or undefined. Certain: all characters other than
 * ASCII next to each other are the bytes of valid UTF-8 in Windows-1252, which no words are.
 */
export const doubleEncoding = (text: string): DoubleEncoding | undefined => {
  for (const { 0: written, index } of text.matchAll(/[^\0-\u007f]{2,}/g)) {
    if (![...written].every((character) => bytes.has(character))) continue
    const meant = meantBy(written)
    if (meant === undefined) continue
    const lines = text.slice(0, index).split("\n")
    return { line: lines.length, column: lines.at(-1)!.length + 1, written, meant }
  }
  return undefined
}
