/** The length at which Excel cuts a cell. Unit: UTF-16 code units. */
export const excelLength = 32_767

const quoted = (text: string): string => /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

/** Formats values as a line of CSV (RFC 4180). */
export const csvLine = (values: ReadonlyArray<string>): string => `${values.map(quoted).join(",")}\r\n`

/** Whether a spreadsheet may run a text as a formula. */
const isFormula = (text: string): boolean => /^[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/.test(text)

/**
 * Prepares a text for CSV that people open in a spreadsheet: puts an apostrophe before a text that would run as a
 * formula. Files for other programs contain the unchanged text.
 */
export const spreadsheetText = (text: string): string => isFormula(text) ? `'${text}` : text

/** Removes the apostrophe of `spreadsheetText` from a text of a file. */
export const textOfSpreadsheet = (text: string): string =>
  text.startsWith("'") && isFormula(text.slice(1)) ? text.slice(1) : text
