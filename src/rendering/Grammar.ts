import {
  CaptureTag,
  CaseTag,
  defaultOperators,
  ForTag,
  IfTag,
  Liquid,
  LiquidTag,
  Parser,
  TablerowTag,
  Tag,
  type TagToken,
  type Template,
  Tokenizer,
  type TopLevelToken,
  UnlessTag,
} from "liquidjs"
import { filters } from "./Filters.ts"
import * as Limits from "./Limits.ts"
import { Refused } from "./Refused.ts"
import { Remark } from "./Remark.ts"
import { RenderTag } from "./RenderTag.ts"

type TagClass = new (token: TagToken, rest: Array<TopLevelToken>, liquid: Liquid, parser: Parser) => Tag

const tooDeep = (begin: number) => new Refused(`is nested deeper than ${Limits.nesting} levels`, begin)

const depths = new WeakMap<Parser, number>()

/**
 * A block tag with a maximum depth of nesting: parsing and rendering are recursive, and `{% liquid liquid … %}` is read
 * in quadratic time.
 */
const nested = (Block: TagClass): TagClass =>
  class extends Block {
    constructor(token: TagToken, rest: Array<TopLevelToken>, liquid: Liquid, parser: Parser) {
      const depth = (depths.get(parser) ?? 0) + 1
      if (depth > Limits.nesting) throw tooDeep(token.begin)
      depths.set(parser, depth)
      super(token, rest, liquid, parser)
      depths.set(parser, depth - 1)
    }
    override render(): void {}
  }

class Unavailable extends Tag {
  constructor(token: TagToken, rest: Array<TopLevelToken>, liquid: Liquid) {
    super(token, rest, liquid)
    const [, id = "footer"] = /^\s*["']([\w-]+)["']/.exec(token.args) ?? []
    const remedy = token.name === "include"
      ? `write {% render '${id}' %}, which inserts a snippet. A snippet sees only the values that the tag passes, as in ` +
        `{% render '${id}', name: name %}`
      : "a variant cannot use other templates"
    throw new Refused(`the tag "${token.name}" is not available: ${remedy}`, token.begin)
  }
  override render(): void {}
}

// This instance only parses, and `Tags.ts` renders. The limits protect against an unexpected render by one of its own
// tags.
const liquid = new Liquid({
  ownPropertyOnly: true,
  strictFilters: true,
  dynamicPartials: false,
  relativeReference: false,
  fs: {
    exists: () => Promise.resolve(false),
    existsSync: () => false,
    contains: () => Promise.resolve(false),
    containsSync: () => false,
    readFile: () => Promise.reject(new Error("there are no files")),
    readFileSync: () => {
      throw new Error("there are no files")
    },
    resolve: (_, file) => file,
  },
  parseLimit: Limits.sourceLength,
  memoryLimit: Limits.outputLength,
  renderLimit: 50,
  // Ruby's Liquid has `<>` as well as `!=`.
  operators: { ...defaultOperators, "<>": defaultOperators["!="]! },
  locale: "en-US",
  timezoneOffset: 0,
})
for (const name of Object.keys(liquid.filters)) if (!filters.has(name)) liquid.unregisterFilter(name)
// Registered because the parser refuses unknown names. `Filters.ts` implements the filters.
for (const name of filters.keys()) if (!(name in liquid.filters)) liquid.registerFilter(name, (value) => value)
for (
  const [name, Block] of Object.entries<TagClass>({
    capture: CaptureTag,
    case: CaseTag,
    for: ForTag,
    if: IfTag,
    liquid: LiquidTag,
    tablerow: TablerowTag,
    unless: UnlessTag,
  })
) liquid.registerTag(name, nested(Block))
for (const name of ["include", "layout", "block"]) liquid.registerTag(name, Unavailable)
liquid.registerTag("render", RenderTag)
liquid.registerTag("#", Remark)

/** Tags inside or at the end of other tags, by the surrounding tag. */
const innerTags: Readonly<Record<string, ReadonlyArray<string>>> = {
  capture: ["endcapture"],
  case: ["when", "else", "endcase"],
  comment: ["endcomment"],
  for: ["else", "endfor"],
  if: ["elsif", "else", "endif"],
  raw: ["endraw"],
  tablerow: ["endtablerow"],
  unless: ["elsif", "else", "endunless"],
}

/** The names of all tags that a source can use, including end tags, in alphabetical order. */
export const tagNames: ReadonlyArray<string> = [
  ...new Set(
    Object.keys(liquid.tags).filter((name) => /^\w+$/.test(name) && liquid.tags[name] !== Unavailable)
      .flatMap((name) => [name, ...(innerTags[name] ?? [])]),
  ),
].sort()

/** Refuses brackets nested too deeply inside tags and outputs, because reading them is recursive. */
const requireShallow = (source: string): void => {
  let depth = 0
  let inside = false
  for (let index = 0; index < source.length; index++) {
    const sign = source[index]
    const next = source[index + 1]
    if (sign === "{" && (next === "{" || next === "%")) {
      inside = true
      depth = 0
    } else if (next === "}" && (sign === "}" || sign === "%")) inside = false
    else if (inside && (sign === "[" || sign === "(") && ++depth > Limits.nesting) throw tooDeep(index)
    else if (depth > 0 && (sign === "]" || sign === ")")) depth--
  }
}

/** Tokens from last to first. liquidjs takes them with `shift`, which copies the rest of an array of 16,384 and more. */
class Waiting extends Array<TopLevelToken> {
  override shift(): TopLevelToken | undefined {
    return this.pop()
  }
}

class LinearParser extends Parser {
  override parseTokens(tokens: Array<TopLevelToken>): Array<Template> {
    return super.parseTokens(Waiting.from(tokens.toReversed()))
  }
}

/** Finds the end of a text between Liquid by a search. liquidjs compares every character. */
class LinearTokenizer extends Tokenizer {
  override readHTMLToken(stopStrings: Array<string>) {
    const begin = this.p
    let end = this.input.indexOf("{", begin)
    while (end !== -1 && !stopStrings.some((stop) => this.input.startsWith(stop, end))) {
      end = this.input.indexOf("{", end + 1)
    }
    this.p = end === -1 ? this.N : end
    const token = super.readHTMLToken(stopStrings)
    token.begin = begin
    return token
  }
}

/** Splits a source into texts, tags and outputs. Throws errors of liquidjs. */
export const tokensOf = (source: string): ReadonlyArray<TopLevelToken> =>
  new LinearTokenizer(source, liquid.options.operators).readTopLevelTokens(liquid.options)

/** Splits the inside of a `liquid` tag into tags. */
export const linesOf = (source: string, begin: number, end: number): ReadonlyArray<TopLevelToken> =>
  new Tokenizer(source, liquid.options.operators, undefined, [begin, end]).readLiquidTagTokens(liquid.options)

/** Parses a source with a maximum length of `Limits.sourceLength`. Throws `Refused` or an error of liquidjs. */
export const read = (source: string): ReadonlyArray<Template> => {
  requireShallow(source)
  return new LinearParser(liquid).parseTokens([...tokensOf(source)])
}
