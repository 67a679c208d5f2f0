const format = new Intl.ListFormat("en-GB", { type: "disjunction" })

/** Names as alternatives in a sentence: `a, b or c`. */
export const alternatives = (names: ReadonlyArray<string>): string => format.format(names)
