import { LiquidError, type TagToken, type TopLevelToken, TypeGuards } from "liquidjs"
import { linesOf, tagNames, tokensOf } from "./Grammar.ts"
import * as Limits from "./Limits.ts"
import { lookalikeFault } from "./Lookalikes.ts"
import { Refused } from "./Refused.ts"
import { hasLiquid, liquidLengthOf } from "./Source.ts"
import { type SourceParts, StrictReader } from "./StrictReader.ts"
import { BlockOrder, forms, output } from "./StrictTags.ts"

/** The beginning of a tag or output, written with other braces, or with invisible characters between its signs. */
const otherBraces =
  /[{\uff5b\ufe5b\u2774][\p{Default_Ignorable_Code_Point}\p{Cf}\u2800]*[{%\uff5b\ufe5b\u2774\uff05\ufe6a]/gu
const anyBrace = /[{\uff5b\ufe5b\u2774]/
const spacedOutput = /\{\s+\{\s*(?<inside>[\w.]+(?:\s*\|[^{}\n]*|\[["'][^"'\n]*["']\])?)\s*\}\s*\}/
const spacedTag =
  /\{\s+%-?\s*(?<inside>(?:if|elsif|else|endif|for|endfor|unless|endunless|case|when|endcase|assign|capture|endcapture)\b)/

/** Refuses a text that contains the beginning of a tag or output with wrong signs. */
const checkText = (source: string, begin: number, end: number): void => {
  const text = source.slice(begin, end)
  if (!anyBrace.test(text)) return
  for (const { 0: braces, index } of text.matchAll(otherBraces)) {
    const other = [...braces].find((sign) => sign !== "{" && sign !== "%")!
    throw new Refused(lookalikeFault(other)!, begin + index + braces.indexOf(other))
  }
  const output = spacedOutput.exec(text)
  if (output !== null) {
    throw new Refused(
      `has spaces between braces: write {{ ${output.groups!["inside"]!.trim()} }}`,
      begin + output.index,
    )
  }
  const tag = spacedTag.exec(text)
  if (tag === null) return
  throw new Refused(`has a space between { and %: write {% ${tag.groups!["inside"]} … %}`, begin + tag.index)
}

const unavailable = /^(?:include|layout|block)$/

/** Refuses tags that do not exist, and names the tag that was probably meant. Leaves all other tags to the parser. */
const refuseUnknown = (source: string, { args, begin, name }: TagToken): void => {
  const lower = name.toLowerCase()
  if (!/^[a-z_]\w*$/.test(lower) || unavailable.test(name) || tagNames.includes(name)) return
  const isValue = args.trim() === "" || /^\s*(?:[.|])/.test(args)
  const remedy = tagNames.includes(lower)
    ? `write ${lower}, in lower case`
    : /^\s*=/.test(args)
    ? `to set a value, write {% assign ${name} = … %}`
    : isValue && !lower.startsWith("end")
    ? `to insert a value, write {{ ${name}${args.trimEnd()} }}`
    : undefined
  if (remedy !== undefined) throw new Refused(`there is no tag "${name}": ${remedy}`, source.indexOf(name, begin))
}

const checkTag = (source: string, token: TagToken, found: SourceParts, depth: number): void => {
  const [, end] = token.contentRange
  const begin = end - token.args.length
  if (token.name === "liquid") {
    if (depth <= Limits.nesting) checkTokens(source, linesOf(source, begin, end), found, depth + 1)
    return
  }
  const form = forms.get(token.name)
  if (form !== undefined) return form(new StrictReader(source, begin, end, found))
  refuseUnknown(source, token)
  const other = [...token.name].find((sign) => lookalikeFault(sign) !== undefined)
  if (other !== undefined) throw new Refused(lookalikeFault(other)!, source.indexOf(other, token.begin))
}

const checkTokens = (source: string, tokens: ReadonlyArray<TopLevelToken>, found: SourceParts, depth: number): void => {
  const blocks = new BlockOrder()
  /** The tag that ends a comment or raw text. */
  let until: string | undefined
  for (const token of tokens) {
    if (TypeGuards.isTagToken(token)) {
      if (until !== undefined && token.name !== until) continue
      until = token.name === "comment" || token.name === "raw" ? `end${token.name}` : undefined
      checkTag(source, token, found, depth)
      blocks.tag(token)
    } else if (until !== undefined) continue
    else if (TypeGuards.isOutputToken(token)) {
      blocks.shown(token.begin)
      output(new StrictReader(source, ...token.contentRange, found))
    } else {
      blocks.shown(token.begin, source.slice(token.begin, token.end))
      checkText(source, token.begin, token.end)
    }
  }
}

/** Reads an output without an end. Its quotation marks may have hidden the end. */
const checkUnclosed = (source: string, begin: number, found: SourceParts): void => {
  const end = source.indexOf("}}", begin + 2)
  if (source.startsWith("{{", begin) && end !== -1) output(new StrictReader(source, begin + 2, end, found))
}

/**
 * Reads all tags and outputs of a source. Throws `Refused` for the first part that is not understood, or that the
 * parser skips. Leaves unknown tags, and sources that the parser cannot split, to the parser.
 */
export const readStrictly = (source: string): SourceParts => {
  const found: SourceParts = { filters: [], groupings: [], renders: [] }
  // The parser refuses longer sources.
  if (source.length > Limits.sourceLength || liquidLengthOf(source) > Limits.liquidLength) return found
  if (!hasLiquid(source)) {
    checkText(source, 0, source.length)
    return found
  }
  try {
    checkTokens(source, tokensOf(source), found, 0)
  } catch (error) {
    if (!LiquidError.is(error)) throw error
    checkUnclosed(source, error.token.begin, found)
  }
  return found
}
