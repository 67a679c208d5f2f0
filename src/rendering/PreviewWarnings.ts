import type { RenderedFormats } from "../domain/Template.ts"
import type { SourceFault } from "../text/TextFaults.ts"
import { pathOf } from "./dialects/Notation.ts"
import type { Observed } from "./Renderer.ts"
import type { SourceFinding } from "./SourceFinding.ts"
import { atPlaces } from "./SourceWarnings.ts"

// Warnings about the rendering of a preview: fields without a value, outputs without text, and links and images without
// a target.

/** Characters of the surrounding text that a warning quotes, on each side. */
const shownAround = 24

/** The text around an offset, without tags of HTML and on one line. */
const around = (text: string, at: number): string => {
  const before = text.slice(Math.max(0, at - 120), at).replace(/<[^<>]*>|^[^<>]*>/g, "")
  const after = text.slice(at, at + 120).replace(/<[^<>]*>|<[^<>]*$/g, "")
  const line = (part: string) => part.replace(/\s+/g, " ")
  // A word that is cut is left out.
  const [start, end] = [line(before), line(after)]
  const left = start.length > shownAround ? start.slice(-shownAround).replace(/^\S*\s/, "") : start
  const right = end.length > shownAround ? end.slice(0, shownAround).replace(/\s\S*$/, "") : end
  return `${left}${right}`.trim()
}

/** Whether an offset is within a tag of HTML. */
const isInTag = (text: string, at: number): boolean => {
  const before = text.slice(Math.max(0, at - 2_000), at)
  return before.lastIndexOf("<") > before.lastIndexOf(">")
}

/** Whether the text without a value at an offset reads as if a word was left out: `Hi ,`, `Dear !`, two spaces. */
const leavesGap = (text: string, at: number, isHtml: boolean): boolean => {
  const [previous, next] = [text[at - 1], text[at]]
  const before = text.slice(Math.max(0, at - 200), at).trimEnd().at(-1)
  const after = text.slice(at, at + 200).trimStart()[0]
  const startsBlock = before === undefined || (isHtml && before === ">")
  const endsBlock = after === undefined || (isHtml && after === "<")
  if (startsBlock && endsBlock) return false
  const isSpace = (sign: string | undefined) => sign === undefined || /\s/.test(sign)
  if (startsBlock) return next !== undefined && /[,.!?;:]/.test(next)
  return isSpace(previous) && (isSpace(next) || /[,.!?;:<)]/.test(next!))
}

/** The output at an offset of the source, as written. */
const outputAt = (source: string, begin: number): string => {
  const end = source.indexOf("}}", begin)
  const text = end === -1 ? source.slice(begin, begin + 60) : source.slice(begin, end + 2)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

const hasEmptyDefault = /\|\s*default:\s*(?:""|'')/

/** The output without text that contains an offset of the source, with its offset in the text. */
const emptyOutputAt = (
  { empty, source }: Observed,
  begin: number,
): readonly [begin: number, at: number] | undefined => {
  const open = source.lastIndexOf("{{", begin)
  const at = open === -1 || source.slice(open, begin).includes("}}") ? undefined : empty.get(open)
  return at === undefined ? undefined : [open, at]
}

/** A name with its members, as written. */
const writtenPath = /[\p{L}_][\p{L}\p{M}\p{N}_-]*(?:\.[\p{L}\p{N}_][\p{L}\p{M}\p{N}_-]*|\[[^\]\n]{1,60}\])*/uy

/** The whole path of a missing value: `user.name`, also if the whole of `user` is missing. */
const pathAt = (source: string, name: string, begin: number): string => {
  writtenPath.lastIndex = begin
  const [written] = writtenPath.exec(source) ?? []
  return written?.startsWith(name) === true ? written : pathOf(name)
}

/** Whether a name is an argument or is compared, so that it may be a text whose quotation marks were forgotten. */
const mayBeText = (source: string, name: string, begin: number): boolean =>
  /^[\p{L}\p{M}\p{N}_-]+$/u.test(name) &&
  /(?:[:,=>]|\bcontains|\bwhen|\bor)\s*$/.test(source.slice(Math.max(0, begin - 20), begin))

/** Returns warnings about names without a value, with the text that people would read. */
const missingValues = (observed: Observed): ReadonlyArray<SourceFinding> =>
  [...observed.missing].map(([missing, begin]) => {
    const path = pathAt(observed.source, missing, begin)
    const name = path.startsWith("[") ? missing : path
    if (missing === "forloop" || missing === "tablerowloop") {
      return { begin, message: `"${name}" has a value only within a loop. Write it between {% for %} and {% endfor %}` }
    }
    const [open, at] = emptyOutputAt(observed, begin) ?? []
    if (open === undefined || at === undefined || observed.source.slice(open + 2, begin).includes("|")) {
      const asText = mayBeText(observed.source, name, begin) ? `, or write "${name}" in quotes if it is a text` : ""
      return { begin, message: `"${name}" has no sample value. Add it to the sample fields${asText}` }
    }
    const shown = isInTag(observed.text, at) ? "" : around(observed.text, at)
    const effect = shown === "" ? "nothing is shown in its place" : `people would read "${shown}"`
    const remedy = `Add it to the sample fields, or write {{ ${path} | default: "…" }}`
    return { begin: open, message: `"${name}" has no sample value: ${effect}. ${remedy}` }
  })

/** Returns the names without a value, as written. */
export const missingNames = ({ missing, source }: Observed): ReadonlyArray<string> =>
  [...missing].map(([name, begin]) => pathAt(source, name, begin))

/** Returns the text with a mark for each output of a name without a value. `[first_name]` in plain text. */
const withMarks = (observed: Observed, isHtml: boolean): string => {
  const { empty, missing, source, text } = observed
  const pieces: Array<string> = []
  let copied = 0
  for (const [begin, at] of [...empty].sort(([, a], [, b]) => a - b)) {
    const output = outputAt(source, begin)
    const name = [...missing.keys()].find((one) => output.includes(one))
    if (name === undefined || (isHtml && isInTag(text, at))) continue
    const shown = output.replace(/^\{\{-?\s*/, "").replace(/\s*(?:\|.*|-?\}\})$/s, "").replace(/[<>&]/g, "")
    pieces.push(
      text.slice(copied, at),
      isHtml ? `<mark style="background:#ffd84d;color:#1b1b1b">${shown}</mark>` : `[${shown}]`,
    )
    copied = at
  }
  return pieces.join("") + text.slice(copied)
}

/** Returns the variables that use names without a value, with marks in their places, and the variables in `always`. Default: none. */
export const marked = (
  observed: ReadonlyArray<Observed>,
  formats: RenderedFormats,
  always: ReadonlyArray<string> = [],
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    observed.filter(({ missing, variable }) => missing.size > 0 || always.includes(variable)).map((one) => [
      one.variable,
      withMarks(one, Object.hasOwn(formats, one.variable) && formats[one.variable] === "html"),
    ]),
  )

/** Returns warnings about outputs without text where a word is left out. */
const gaps = (observed: Observed, isHtml: boolean): ReadonlyArray<SourceFinding> => {
  const { empty, missing, source, text } = observed
  return [...empty].flatMap(([begin, at]) => {
    const output = outputAt(source, begin)
    if (
      [...missing.keys()].some((name) => output.includes(name)) || hasEmptyDefault.test(output) || isInTag(text, at) ||
      !leavesGap(text, at, isHtml)
    ) return []
    const message = `${output} is empty: people would read "${
      around(text, at)
    }". Write a default, or leave it out by {% if %}`
    return [{ begin, message }]
  })
}

/** Links, Outlook's VML included, and images. Their attributes are quoted in practice. */
const element = /<(?<name>a|area|img|v:\w{1,20})\b(?<attributes>(?:"[^"]{0,4000}"|'[^']{0,4000}'|[^<>"']){0,200})>/gi

const attribute = (name: string) => new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]*))`, "di")
const href = attribute("href")
const src = attribute("src")

/** Addresses that lead nowhere. */
const leadsNowhere = /^\s*(?:#|https?:\/*|mailto:|tel:|sms:)?\s*$/i

/** The offset in the source of an element of the text: the offset of the empty output in it, or of its words. */
const placeOfElement = ({ empty, source }: Observed, words: string, from: number, to: number): number => {
  const inside = [...empty].find(([, at]) => at >= from && at <= to)
  return inside?.[0] ?? Math.max(0, source.indexOf(words))
}

/** Returns warnings about links and images of HTML without a target. */
const targets = (observed: Observed): ReadonlyArray<SourceFinding> =>
  [...observed.text.matchAll(element)].flatMap((match) => {
    const attributes = match.groups!["attributes"]!
    const isImage = match.groups!["name"]!.toLowerCase() === "img"
    const found = (isImage ? src : href).exec(attributes)
    const address = found?.[1] ?? found?.[2] ?? found?.[3]
    if (address === undefined ? !isImage : !leadsNowhere.test(address)) return []
    const begin = placeOfElement(observed, match[0], match.index, match.index + match[0].length)
    const shown = found === undefined || found === null ? `<img> without src` : found[0].trim()
    return [{
      begin,
      message: isImage
        ? `An image has no address (${shown}). Write the address of the picture, or leave the image out by {% if %}`
        : `A link has no target (${shown}). Write an address, or leave the link out by {% if %}`,
    }]
  })

/** Returns a warning about a variable that is empty for the sample values. */
const nothing = ({ source, text }: Observed): ReadonlyArray<SourceFinding> =>
  text.trim() === "" && source.trim() !== ""
    ? [{ begin: 0, message: "The whole text is empty for these sample values" }]
    : []

/** Returns warnings about the rendering of a variant for sample values, at most 20 for each variable. */
export const previewWarnings = (
  observed: ReadonlyArray<Observed>,
  formats: RenderedFormats,
): ReadonlyArray<SourceFault> =>
  observed.flatMap((one) => {
    const isHtml = Object.hasOwn(formats, one.variable) && formats[one.variable] === "html"
    const findings = [
      ...(isHtml ? targets(one) : []),
      ...missingValues(one),
      ...one.missingInSnippets,
      ...gaps(one, isHtml),
      ...nothing(one),
    ]
    return atPlaces(one.variable, one.source, findings)
  })
