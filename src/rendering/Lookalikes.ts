// Signs of word processors, keyboards and browsers that look like signs of Liquid, or like nothing.

/** A sign that looks like another one. */
interface Lookalike {
  readonly name: string
  /** The sign to write instead. Absent for invisible signs. */
  readonly plain?: string
}

/** Names by code point in hexadecimal, after the sign to write instead. Names are the names of Unicode in lowercase. */
const visible: ReadonlyArray<readonly [plain: string, names: Readonly<Record<string, string>>]> = [
  ['"', {
    "ab": "left-pointing double angle quotation mark",
    "bb": "right-pointing double angle quotation mark",
    "2dd": "double acute accent",
    "2ba": "modifier letter double prime",
    "2ee": "modifier letter double apostrophe",
    "2f5": "modifier letter middle double grave accent",
    "2f6": "modifier letter middle double acute accent",
    "5f4": "Hebrew punctuation gershayim",
    "201c": "left double quotation mark",
    "201d": "right double quotation mark",
    "201e": "double low-9 quotation mark",
    "201f": "double high-reversed-9 quotation mark",
    "2033": "double prime",
    "2036": "reversed double prime",
    "275d": "heavy double turned comma quotation mark ornament",
    "275e": "heavy double comma quotation mark ornament",
    "2e42": "double low-reversed-9 quotation mark",
    "300a": "left double angle bracket",
    "300b": "right double angle bracket",
    "300e": "left white corner bracket",
    "300f": "right white corner bracket",
    "301d": "reversed double prime quotation mark",
    "301e": "double prime quotation mark",
    "301f": "low double prime quotation mark",
    "ff02": "fullwidth quotation mark",
  }],
  ["'", {
    "60": "grave accent",
    "b4": "acute accent",
    "2b9": "modifier letter prime",
    "2bb": "modifier letter turned comma",
    "2bc": "modifier letter apostrophe",
    "2bd": "modifier letter reversed comma",
    "2be": "modifier letter right half ring",
    "2bf": "modifier letter left half ring",
    "2c8": "modifier letter vertical line",
    "2ca": "modifier letter acute accent",
    "2cb": "modifier letter grave accent",
    "55a": "Armenian apostrophe",
    "55b": "Armenian emphasis mark",
    "5f3": "Hebrew punctuation geresh",
    "2018": "left single quotation mark",
    "2019": "right single quotation mark",
    "201a": "single low-9 quotation mark",
    "201b": "single high-reversed-9 quotation mark",
    "2032": "prime",
    "2035": "reversed prime",
    "2039": "single left-pointing angle quotation mark",
    "203a": "single right-pointing angle quotation mark",
    "275b": "heavy single turned comma quotation mark ornament",
    "275c": "heavy single comma quotation mark ornament",
    "3008": "left angle bracket",
    "3009": "right angle bracket",
    "300c": "left corner bracket",
    "300d": "right corner bracket",
    "a78c": "Latin small letter saltillo",
    "ff07": "fullwidth apostrophe",
    "ff40": "fullwidth grave accent",
  }],
  ["-", {
    "2d7": "modifier letter minus sign",
    "2010": "hyphen",
    "2011": "non-breaking hyphen",
    "2012": "figure dash",
    "2013": "en dash",
    "2014": "em dash",
    "2015": "horizontal bar",
    "2043": "hyphen bullet",
    "2212": "minus sign",
    "fe58": "small em dash",
    "fe63": "small hyphen-minus",
    "ff0d": "fullwidth hyphen-minus",
  }],
  ["<=", {
    "2264": "less-than or equal to sign",
    "2266": "less-than over equal to sign",
    "2a7d": "less-than or slanted equal to sign",
  }],
  [">=", {
    "2265": "greater-than or equal to sign",
    "2267": "greater-than over equal to sign",
    "2a7e": "greater-than or slanted equal to sign",
  }],
  ["!=", { "2260": "not equal to sign", "2262": "not identical to sign" }],
  ["==", { "2261": "identical to sign", "a78a": "modifier letter short equals sign", "ff1d": "fullwidth equals sign" }],
  ["<", { "fe64": "small less-than sign", "ff1c": "fullwidth less-than sign" }],
  [">", { "fe65": "small greater-than sign", "ff1e": "fullwidth greater-than sign" }],
  ["!=", { "ff01": "fullwidth exclamation mark" }],
  ["and", { "2227": "logical and sign", "ff06": "fullwidth ampersand" }],
  ["or", { "2228": "logical or sign" }],
  ["not", { "ac": "not sign" }],
  ["|", {
    "a6": "broken bar",
    "1c0": "Latin letter dental click",
    "2223": "divides sign",
    "2502": "box drawings light vertical",
    "ff5c": "fullwidth vertical line",
    "ffe8": "halfwidth forms light vertical",
  }],
  [":", {
    "2d0": "modifier letter triangular colon",
    "2236": "ratio sign",
    "a789": "modifier letter colon",
    "fe55": "small colon",
    "ff1a": "fullwidth colon",
  }],
  [",", { "60c": "Arabic comma", "3001": "ideographic comma", "fe50": "small comma", "ff0c": "fullwidth comma" }],
  [".", { "3002": "ideographic full stop", "fe52": "small full stop", "ff0e": "fullwidth full stop" }],
  ["..", { "2025": "two dot leader", "2026": "horizontal ellipsis" }],
  ["(", { "ff08": "fullwidth left parenthesis" }],
  [")", { "ff09": "fullwidth right parenthesis" }],
  ["[", { "3010": "left black lenticular bracket", "ff3b": "fullwidth left square bracket" }],
  ["]", { "3011": "right black lenticular bracket", "ff3d": "fullwidth right square bracket" }],
  ["{", {
    "2774": "medium left curly bracket ornament",
    "fe5b": "small left curly bracket",
    "ff5b": "fullwidth left curly bracket",
  }],
  ["}", {
    "2775": "medium right curly bracket ornament",
    "fe5c": "small right curly bracket",
    "ff5d": "fullwidth right curly bracket",
  }],
  ["%", { "66a": "Arabic percent sign", "fe6a": "small percent sign", "ff05": "fullwidth percent sign" }],
  ["_", { "203f": "undertie", "fe4d": "dashed low line", "fe4e": "centreline low line", "ff3f": "fullwidth low line" }],
  ["#", { "ff03": "fullwidth number sign" }],
  ["| plus:", { "ff0b": "fullwidth plus sign" }],
  ["| times:", { "d7": "multiplication sign", "22c5": "dot operator", "2217": "asterisk operator" }],
  ["| divided_by:", { "f7": "division sign", "2044": "fraction slash", "2215": "division slash" }],
]

const unseen: Readonly<Record<string, string>> = {
  "ad": "soft hyphen",
  "34f": "combining grapheme joiner",
  "61c": "Arabic letter mark",
  "115f": "Hangul choseong filler",
  "1160": "Hangul jungseong filler",
  "200b": "zero width space",
  "200c": "zero width non-joiner",
  "200d": "zero width joiner",
  "200e": "left-to-right mark",
  "200f": "right-to-left mark",
  "202a": "left-to-right embedding",
  "202b": "right-to-left embedding",
  "202c": "pop directional formatting",
  "202d": "left-to-right override",
  "202e": "right-to-left override",
  "2060": "word joiner",
  "2061": "function application",
  "2062": "invisible times",
  "2063": "invisible separator",
  "2064": "invisible plus",
  "2066": "left-to-right isolate",
  "2067": "right-to-left isolate",
  "2068": "first strong isolate",
  "2069": "pop directional isolate",
  "2800": "braille pattern blank",
  "3164": "Hangul filler",
  "fe0e": "variation selector-15",
  "fe0f": "variation selector-16",
  "feff": "byte order mark",
  "ffa0": "halfwidth Hangul filler",
}

const lookalikes: ReadonlyMap<number, Lookalike> = new Map([
  ...visible.flatMap(([plain, names]) =>
    Object.entries(names).map(([code, name]) => [parseInt(code, 16), { name, plain }] as const)
  ),
  ...Object.entries(unseen).map(([code, name]) => [parseInt(code, 16), { name }] as const),
])

/** Characters that cannot be seen, except white space that separates words in Liquid. */
export const invisible = /^[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Cs}\u2800]$/u

/** Characters beyond ASCII that names can contain: letters, marks, digits, and symbols such as emoji and currencies. */
const inNames = /^[\p{L}\p{M}\p{N}\p{So}\p{Sc}]$/u

/** The code point in the form `U+201D`. */
const codeOf = (sign: string): string => `U+${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`

const withArticle = (name: string): string => `${/^[aeiou]/i.test(name) ? "an" : "a"} ${name}`

/** Whether a sign can be a part of a name. ASCII has its own rule in the reader. */
export const canBeInName = (sign: string): boolean =>
  inNames.test(sign) && !invisible.test(sign) && !lookalikes.has(sign.codePointAt(0)!)

/**
 * Returns the fault of a sign inside a tag or output that looks like a sign of Liquid or like nothing, with the remedy.
 * Undefined for ordinary signs.
 */
export const lookalikeFault = (sign: string): string | undefined => {
  const found = lookalikes.get(sign.codePointAt(0)!)
  if (found?.plain !== undefined) {
    return `has ${withArticle(found.name)} (${
      codeOf(sign)
    }), which is not a sign of Liquid: write ${found.plain} instead`
  }
  if (found !== undefined || invisible.test(sign)) {
    const named = found === undefined ? codeOf(sign) : `${withArticle(found.name)} (${codeOf(sign)})`
    return `has an invisible character, ${named}: delete it, or type this part again`
  }
  if (sign <= "\u007f" || inNames.test(sign)) return undefined
  return `has the sign ${sign} (${codeOf(sign)}), which is not a sign of Liquid: delete it, ` +
    `or write a name with it in brackets and quotes, such as ["a${sign}b"]`
}
