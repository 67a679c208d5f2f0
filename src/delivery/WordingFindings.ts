import table from "./contentPhrases.json" with { type: "json" }
import { english, t, translated } from "../languages/Language.ts"
import type { CheckedContent, ContentFinding } from "./ContentFinding.ts"

// Finds wording that spam filters or readers distrust. `contentPhrases.json` has the phrases and link shorteners.

/** Length from which inboxes on desktops cut a subject. Unit: characters as readers count them. */
const longSubject = 70

/** Maximum number of phrases that a finding names. Other phrases are only counted. */
const maxNamed = 3

const quoted = (texts: ReadonlyArray<string>) => {
  const some = texts.slice(0, maxNamed).map((text) => JSON.stringify(text)).join(", ")
  return texts.length > maxNamed ? t`${some} and ${texts.length - maxNamed} more` : some
}

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
    ...(subject.trim() === "" ? [t`The subject is empty: inboxes show “(no subject)”. Write one.`] : []),
    ...(length > longSubject
      ? [
        t`The subject has ${length} characters. Inboxes show about 70, phones about 40: put the important words first,
          or shorten it.`,
      ]
      : []),
    ...(isShouted(subject) ? [t`Most of the subject is in capitals, as in spam. Write it in normal case.`] : []),
    ...(marks > 1 ? [t`The subject has ${marks} exclamation marks. One at most looks serious.`] : []),
    ...(/^\s*(?:re|fwd?|aw|wg)\s*:/i.test(subject)
      ? [
        t`The subject begins like a reply or a forwarded message. That deceives readers, and is unlawful in some
          countries.`,
      ]
      : []),
  ]
  return warnings.length > 0
    ? { check: "subject", status: "warn", detail: warnings.join(" ") }
    : { check: "subject", status: "ok", detail: t`The subject has ${length} characters.` }
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
    ...(found.length > 0 ? [t`Phrases that are frequent in spam: ${quoted(found)}. Say it in other words.`] : []),
    ...(isLoud ? [t`The text shouts: lines in capitals, or “!!!”. Write it in normal case.`] : []),
  ]
  return warnings.length > 0
    ? { check: "wording", status: "warn", detail: warnings.join(" ") }
    : { check: "wording", status: "ok", detail: t`No phrase is frequent in spam.` }
}

/** Placeholders that remain in a message, with what they are. */
const residues: ReadonlyArray<readonly [pattern: RegExp, name: string]> = [
  [/\{\{.{0,60}\}\}|\{%.{0,60}%\}/i, english("Liquid that was not rendered")],
  [/\*\|[A-Z][A-Z0-9_:]*\|\*/i, english("a merge tag of Mailchimp")],
  [/%%[A-Za-z_][\w. ]{0,60}%%/i, english("a name of Marketing Cloud")],
  [/%recipient\.\w+%/i, english("a variable of Mailgun")],
  [/%[A-Z][A-Z0-9_]{2,40}%/i, english("a name of ActiveCampaign")],
  [/<%=? ?[\w.]{1,60} ?%>/i, english("a name of Adobe Campaign")],
  [/\$\{[A-Za-z][\w.]{0,60}\}/i, english("a name of Braze or Acoustic")],
  [/\[\[[A-Za-z][\w. ]{0,60}\]\]/i, english("a name of another platform")],
  [/\[(?:(?:First|Last|Full|Company|FIRST|LAST|FULL|COMPANY)[ _-]?)?(?:Name|NAME)\]/, english("a placeholder")],
  [/\[object Object\]/i, english("an object in the place of a text")],
  [/lorem ipsum/i, english("filler text")],
  [/\b(?:TODO|TBD|XXXX*)\b/, english("a remark of an author")],
]

/** Checks the subject, the preheader and the text for placeholders that would be sent as they are. */
export const placeholderFinding = ({ preheader = "", subject, text }: CheckedContent): ContentFinding => {
  const searched = `${subject}\n${preheader}\n${text}`
  const found = residues.flatMap(([pattern, name]) => {
    const [excerpt] = pattern.exec(searched) ?? []
    return excerpt === undefined ? [] : [`${JSON.stringify(excerpt)}, ${translated(name)}`]
  })
  return found.length > 0
    ? {
      check: "placeholders",
      status: "warn",
      detail: t`Readers would see ${found.slice(0, maxNamed).join("; ")}. Replace it by text, or by Liquid such as
        {{ first_name | default: "there" }}.`,
    }
    : { check: "placeholders", status: "ok", detail: t`No placeholder is left.` }
}
