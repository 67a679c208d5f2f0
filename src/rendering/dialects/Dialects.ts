import { filters } from "../Filters.ts"
import { tagNames } from "../Grammar.ts"
import type { SourceFinding } from "../SourceFinding.ts"
import { goTemplates } from "./GoTemplates.ts"
import { handlebars } from "./Handlebars.ts"
import { doubtfulOutputs, foreignOutputs, foreignTagTexts, loopNames } from "./LiquidRelatives.ts"
import { foreignFilters, foreignTags } from "./LiquidTags.ts"
import { excerptOf, fieldOf, type Notation, replacementOf } from "./Notation.ts"
import { type LiquidPart, partsOf } from "./Parts.ts"
import { strongNotations, weakNotations } from "./TextNotations.ts"

// Finds notations of other platforms in a source, in linear time. The tables next to this file have the notations.

/** Maximum number of notations of one kind that are reported for one source. */
const maxOfOne = 20

const knownTags: ReadonlySet<string> = new Set(tagNames)

const toSend = ". To send it as it is, put {% raw %} and {% endraw %} around it"

const inWords = (excerpt: string, platform: string, write: string): string =>
  `"${excerpt}" is written for ${platform}. ${/^[{<]|^href=|^the |^'/.test(write) ? `Write ${write}` : write}`

/** Returns the notations in the text outside of Liquid. A place is reported once, by the first notation of the table. */
const inText = (text: string, notations: ReadonlyArray<Notation>, more: string): ReadonlyArray<SourceFinding> => {
  const found: Array<SourceFinding & { readonly end: number }> = []
  for (const notation of notations) {
    let count = 0
    for (const match of text.matchAll(notation.pattern)) {
      const begin = match.index
      const end = begin + match[0].length
      if (found.some((other) => begin < other.end && other.begin < end)) continue
      const write = replacementOf(notation, match)
      if (write === undefined) continue
      found.push({ begin, end, message: inWords(excerptOf(match[0]), notation.platform, write) + more })
      if (++count === maxOfOne) break
    }
  }
  return found
}

const firstOf = (notations: ReadonlyArray<Notation>, text: string) => {
  for (const notation of notations) {
    const groups = notation.pattern.exec(text)
    const write = groups === null ? undefined : replacementOf(notation, groups)
    if (write !== undefined) return { platform: notation.platform, write }
  }
}

const asFinding = (
  { begin, text }: LiquidPart,
  { platform, write }: { platform: string; write: string },
): SourceFinding => ({
  begin,
  message: inWords(excerptOf(text), platform, write),
})

/** Texts in quotes, which are skipped, and filters with an argument in brackets or behind a colon. */
const quotedOrFilter =
  /"[^"]*"|'[^']*'|\|\s*(?<filter>[A-Za-z_]\w*)\s*(?:(?<bracket>\()\s*(?:\w+\s*=\s*)?(?<inside>(?:"[^"]*"|'[^']*'|[^()"']){0,100}?)\s*\)|:\s*(?<behind>"[^"]*"|'[^']*'|[\w.]+))?/g

/** Returns the first filter of another language, with its replacement. */
const foreignFilter = (part: LiquidPart): SourceFinding | undefined => {
  const { begin, text } = part
  const first = text.indexOf("|")
  if (first === -1) return undefined
  for (const { groups, index } of text.matchAll(quotedOrFilter)) {
    const name = groups?.["filter"]
    if (name === undefined) continue
    const given = groups!["inside"] ?? groups!["behind"]
    const isKnown = filters.has(name)
    const foreign = Object.hasOwn(foreignFilters, name) ? foreignFilters[name] : undefined
    if (isKnown ? groups!["bracket"] === undefined : foreign === undefined) continue
    const value = text.slice(2, index).replace(
      part.kind === "tag" ? /^[-\s]*(?:\w+\s+(?:\w+\s*(?:=|\bin\b)\s*)?)?(?=[\w.["'])/ : /^[-{&\s]+/,
      "",
    )
    const plain = (given ?? "").replace(/^["']|["']$/g, "")
    const write = isKnown
      ? `${name}${given === undefined || given === "" ? "" : `: ${given}`}`
      : foreign!.write.replace("$a", name === "lookup" ? plain : given ?? "''")
    const platform = isKnown ? "HubSpot or Jinja" : foreign!.platform
    const liquid = write.startsWith("[") ? `${value.trim()}${write}` : `${value.trim()} | ${write}`
    const shown = write === "size" && part.kind === "tag" ? `${value.trim()}.size` : liquid
    return {
      begin: begin + index + 1,
      message: `The filter "${name}" is written for ${platform}. Write ${
        part.kind === "tag" ? shown : `{{ ${liquid} }}`
      }`,
    }
  }
}

/** Returns the default that HubSpot and Marketo write behind a bar: `{{ contact.firstname|there }}`. */
const bareDefault = (part: LiquidPart): SourceFinding | undefined => {
  const [, name = "", otherwise = ""] =
    /^(?:contact|company|lead)\.(\w+)\s*\|\s*([^|:()"'{}]{1,40})$/.exec(part.inner) ?? []
  if (name === "" || filters.has(otherwise.trim()) || Object.hasOwn(foreignFilters, otherwise.trim())) return undefined
  return asFinding(part, { platform: "HubSpot", write: `{{ ${fieldOf(name)} | default: "${otherwise.trim()}" }}` })
}

const loopName = /\b(?:forloop\.(?:counter0?|revcounter0?)|loop\.(?:index0?|revindex|first|last|length))\b/

const inLoop = (part: LiquidPart): SourceFinding | undefined => {
  const [name = ""] = loopName.exec(part.inner) ?? []
  const write = loopNames[name]
  return write === undefined ? undefined : {
    begin: part.begin,
    message: `"${name}" is written for ${
      name.startsWith("loop") ? "HubSpot or Jinja" : "Klaviyo or Django"
    }. Write ${write}`,
  }
}

const inTag = (part: LiquidPart): SourceFinding | undefined => {
  const { inner } = part
  const [, name = "", rest = ""] = /^(\w+)\b\s*([^]*)$/.exec(inner) ?? []
  const tag = !knownTags.has(name) && Object.hasOwn(foreignTags, name) ? foreignTags[name]! : undefined
  // The values of a tag without an equivalent do not matter.
  const found = tag !== undefined && !tag.write.includes("$1") ? undefined : firstOf(foreignTagTexts, inner)
  if (found !== undefined) return asFinding(part, found)
  if (tag !== undefined) {
    return asFinding(part, { platform: tag.platform, write: tag.write.replace("$1", rest.trim().slice(0, 80)) })
  }
  return foreignFilter(part) ?? inLoop(part)
}

const outputs = [...foreignOutputs.slice(0, 1), ...handlebars, ...goTemplates, ...foreignOutputs.slice(1)]

const inOutput = (part: LiquidPart): SourceFinding | undefined => {
  const found = firstOf(outputs, part.inner)
  return found === undefined ? bareDefault(part) ?? foreignFilter(part) ?? inLoop(part) : asFinding(part, found)
}

/**
 * Returns the parts of a source that are written for another platform and would be sent to people as they are, or mean
 * nothing here. Each message names the platform and the replacement.
 */
export const foreignNotations = (source: string): ReadonlyArray<SourceFinding> => {
  const { liquid, text } = partsOf(source)
  const inLiquid = liquid.flatMap((part) => (part.kind === "tag" ? inTag(part) : inOutput(part)) ?? [])
  return [...inText(text.withoutSamples, strongNotations, toSend), ...inLiquid]
}

/** Returns parts of a source that are probably written for another platform. */
export const probablyForeign = (source: string): ReadonlyArray<SourceFinding> => {
  const { liquid, locals, text } = partsOf(source)
  const doubtful = liquid.flatMap((part) => {
    const [name = ""] = /^\w+/.exec(part.inner) ?? []
    const found = part.kind === "tag" || locals.has(name) ? undefined : firstOf(doubtfulOutputs, part.inner)
    return found === undefined ? [] : [asFinding(part, found)]
  })
  return [...inText(text.withoutCode, weakNotations, ""), ...doubtful]
}
