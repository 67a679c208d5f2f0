const quoted = (text: string): string => /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

/** Values as a line of CSV (RFC 4180). */
export const csvLine = (values: ReadonlyArray<string>): string => `${values.map(quoted).join(",")}\r\n`
