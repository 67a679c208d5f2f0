const quoted = (text: string): string => /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

/** Values as a line of CSV (RFC 4180). */
export const csvLine = (values: ReadonlyArray<string>): string => `${values.map(quoted).join(",")}\r\n`

/** Whether a spreadsheet may take a text for a formula. */
const isFormula = (text: string): boolean => /^[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/.test(text)

/**
 * A text that people wrote, for CSV that is opened as a spreadsheet: one that a spreadsheet would run as a formula begins with an
 * apostrophe. Files for other programs keep texts as they are.
 */
export const spreadsheetText = (text: string): string => isFormula(text) ? `'${text}` : text

/** A text of a file that may have been written for spreadsheets, without the apostrophe of `spreadsheetText`. */
export const textOfSpreadsheet = (text: string): string =>
  text.startsWith("'") && isFormula(text.slice(1)) ? text.slice(1) : text
