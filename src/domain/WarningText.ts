/** Most warnings about one cause in one response, and most characters of a name in them. */
export const namedAtMost = 10
const nameLength = 40

/** The JSON escape of a character, which shows invisible characters such as a zero-width space. */
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** The beginning of a name or value in characters that a header allows, without the separator of warnings. */
export const named = (name: string): string => {
  let text = ""
  for (const character of name.slice(0, nameLength).split("")) {
    const shown = /["\\;]/.test(character) ? "?" : /[\x20-\x7e]/.test(character) ? character : escaped(character)
    if (text.length + shown.length > nameLength) break
    text += shown
  }
  return text
}

/** A sentence in characters that a header allows, without the separator of warnings. */
export const inHeader = (sentence: string): string => sentence.replaceAll(";", ",").replaceAll(/[^\x20-\x7e]/g, escaped)
