/** Maximum length of a text that is compared with phrases. Unit: characters. */
const maxText = 8_000

/** Returns the part of a text that is compared. */
export const bounded = (text: string): string => text.slice(0, maxText)

/** Returns a text in the form of a comparison: without case, accents and mail addresses, and with single spaces. */
export const folded = (text: string): string =>
  bounded(text).toWellFormed()
    .replace(/[^\s<>@:;,"()[\]]{1,64}@[^\s<>@:;,"()[\]]{1,255}/g, "@")
    // Each line of a reply repeats its code.
    .replace(/\r?\n[ \t]*[45]\d\d-(?:[45]\.\d{1,3}\.\d{1,3} )?/g, " ")
    .normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase()
    .replace(/[\u2018\u2019\u00b4`]/g, "'").replace(/[\u2010-\u2015]/g, "-")
    .replace(/\s+/g, " ")
