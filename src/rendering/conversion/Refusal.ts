import * as Limits from "../Limits.ts"

/** Returns why a text cannot be converted. Undefined for a text that can. */
export const refusalOf = (source: string): string | undefined => {
  if (source.length > Limits.sourceLength) {
    return `is longer than ${Limits.sourceLength} characters: convert it in parts`
  }
  const control = /(?![\t\n\v\f\r])[\p{Cc}\ufffd]/u.exec(source)
  if (control === null) return undefined
  const code = source.codePointAt(control.index)!.toString(16).toUpperCase().padStart(4, "0")
  return `is no text: the character U+${code} is at offset ${control.index}. Send the copy as UTF-8 text`
}
