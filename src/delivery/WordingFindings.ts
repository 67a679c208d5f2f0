import table from "./contentPhrases.json" with { type: "json" }
import type { CheckedContent, ContentFinding } from "./ContentFinding.ts"

// Finds wording that spam filters or readers distrust. `contentPhrases.json` has the phrases, link shorteners and residues.

/** Length from which inboxes on desktops cut a subject. Unit: characters as readers count them. */
const longSubject = 70

/** Maximum number of phrases that a finding names. Other phrases are only counted. */
const maxNamed = 3

const quoted = (texts: ReadonlyArray<string>) =>
  texts.slice(0, maxNamed).map((text) => JSON.stringify(text)).join(", ") +
  (texts.length > maxNamed ? ` and ${texts.length - maxNamed} more` : "")

const graphemes = new Intl.Segmenter()

const lengthOf = (text: string): number => [...graphemes.segment(text)].length

/** Whether most letters of a text are capitals. Short texts such as "SALE" and scripts without capitals do not count. */
export const isShouted = (text: string): boolean => {
  const letters = [...text].filter((one) => one.toLowerCase() !== one.toUpperCase())
  const capitals = letters.filter((one) => one === one.toUpperCase())
  return letters.length >= 10 && capitals.length > 0.6 * letters.length
}

/** Checks the subject: its length, capitals, exclamation marks and beginning. */
export const subjectFinding = ({ subject }: CheckedContent): ContentFinding => {
  const length = lengthOf(subject)
  const marks = subject.match(/[!！¡]/g)?.length ?? 0
  const warnings = [
    ...(subject.trim() === "" ? ["The subject is empty: inboxes show “(no subject)”. Write one."] : []),
    ...(length > longSubject
      ? [
        `The subject has ${length} characters. Inboxes show about 70, phones about 40: put the important words first, or shorten it.`,
      ]
      : []),
    ...(isShouted(subject) ? ["Most of the subject is in capitals, as in spam. Write it in normal case."] : []),
    ...(marks > 1 ? [`The subject has ${marks} exclamation marks. One at most looks serious.`] : []),
    ...(/^\s*(?:re|fwd?|aw|wg)\s*:/i.test(subject)
      ? [
        "The subject begins like a reply or a forwarded message. That deceives readers, and is unlawful in some countries.",
      ]
      : []),
  ]
  return warnings.length > 0
    ? { check: "subject", status: "warn", detail: warnings.join(" ") }
    : { check: "subject", status: "ok", detail: `The subject has ${length} characters.` }
}

/** Whether a link leads through a link shortener. */
export const isShortened = (href: string): boolean => {
  const [, host = ""] = /^\s*https?:\/\/(?:[^/?#@]*@)?(?:www\.)?([^/?#:]+)/i.exec(href) ?? []
  return table.shorteners.includes(host.toLowerCase())
}

/** Checks the subject and the text for phrases that are frequent in spam, and the text for capitals. */
export const wordingFinding = ({ subject, text }: CheckedContent): ContentFinding => {
  const searched = `${subject}\n${text}`.toLowerCase().replaceAll("’", "'").replace(/\s+/g, " ")
  const found = table.phrases.filter((phrase) => searched.includes(phrase))
  const lines = text.split(/\r?\n/).filter((line) => !/https?:/.test(line))
  const isLoud = lines.filter(isShouted).length > 2 || /!{3,}/.test(text)
  const warnings = [
    ...(found.length > 0 ? [`Phrases that are frequent in spam: ${quoted(found)}. Say it in other words.`] : []),
    ...(isLoud ? ["The text shouts: lines in capitals, or “!!!”. Write it in normal case."] : []),
  ]
  return warnings.length > 0
    ? { check: "wording", status: "warn", detail: warnings.join(" ") }
    : { check: "wording", status: "ok", detail: "No phrase is frequent in spam." }
}

const residues = table.residues.map((
  { isExact, name, pattern }: (typeof table.residues)[number] & { isExact?: boolean },
) => ({
  name,
  pattern: new RegExp(pattern, isExact === true ? "" : "i"),
}))

/** Checks the subject, the preheader and the text for placeholders that would be sent as they are. */
export const placeholderFinding = ({ preheader = "", subject, text }: CheckedContent): ContentFinding => {
  const searched = `${subject}\n${preheader}\n${text}`
  const found = residues.flatMap(({ name, pattern }) => {
    const [excerpt] = pattern.exec(searched) ?? []
    return excerpt === undefined ? [] : [`${JSON.stringify(excerpt)}, ${name}`]
  })
  return found.length > 0
    ? {
      check: "placeholders",
      status: "warn",
      detail: `Readers would see ${found.slice(0, maxNamed).join("; ")}. Replace it by text, or by Liquid such as ` +
        '{{ first_name | default: "there" }}.',
    }
    : { check: "placeholders", status: "ok", detail: "No placeholder is left." }
}
