import { goTemplates } from "../dialects/GoTemplates.ts"
import { foreignOutputs } from "../dialects/LiquidRelatives.ts"
import { fieldOf, type Notation, ofPlatform, ownWords, replacementOf } from "../dialects/Notation.ts"
import { partsOf } from "../dialects/Parts.ts"
import { strongNotations, weakNotations } from "../dialects/TextNotations.ts"
import type { Result } from "./Result.ts"

// Platforms whose placeholders are names, with a default at most. The tables of the advice have their replacements.

/** A replacement that can be used as it is: one field with a default at most, or a link. */
const usable =
  /^(?:\{\{ ([^{}|]+?)(?: \| default: (?:"[^"]*"|'[^']*'))? \}\}|href="\{\{ unsubscribe_url \}\}"|<a href="\{\{ unsubscribe_url \}\}">|<\/a>)$/

/** Elements that are links. The tables of the advice have a whole link for them. */
const linkElements: ReadonlyArray<Notation> = [
  { platform: "Campaign Monitor", pattern: /<unsubscribe\b[^>]{0,200}>/gi, write: '<a href="{{ unsubscribe_url }}">' },
  { platform: "Campaign Monitor", pattern: /<\/unsubscribe>/gi, write: "</a>" },
]

const conditional = (platform: string, pattern: RegExp): Notation => ({
  platform,
  pattern,
  write: "Write the condition in Liquid, such as {% if plan == 'pro' %}, {% else %} and {% endif %}",
})

/** Conditions and other parts that are no placeholder of a value. */
const partsWithoutEquivalent: ReadonlyArray<Notation> = [
  conditional("ActiveCampaign", /%\/?(?:IF|ELSEIF|ELSE|ENDIF)\b[^%\n]{0,200}%/g),
  conditional("Campaign Monitor", /\[(?:if|elseif):[^\]\n]{0,200}\]|\[(?:else|endif)\]/gi),
  {
    platform: "ActiveCampaign",
    pattern: /%TODAY(?:[+-]\d+)?\*?%/g,
    write: "Write {{ 'now' | date: '%-d %B %Y' }} with the format of the account",
  },
  { platform: "Mailgun", pattern: /%recipient%/g, write: "{{ email }}" },
  { platform: "ActiveCampaign", pattern: /%SENDER-INFO[A-Z-]*%/g, write: ownWords },
  {
    platform: "Campaign Monitor",
    pattern: /\[current(?:day|dayname|month|monthname|year)\]|<current\w+>/gi,
    write: "Write {{ 'now' | date: '%Y' }}",
  },
  {
    platform: "Campaign Monitor",
    pattern: /\[([a-z][\w ]{0,60})\](?!\()/gi,
    write: ([, name = ""]) => `{{ ${fieldOf(name)} }}`,
  },
]

interface Found {
  readonly begin: number
  readonly text: string
  readonly write: string
}

const foundIn = (source: string, notations: ReadonlyArray<Notation>): ReadonlyArray<Found> => {
  // Platforms replace their placeholders in all elements. Parts of Liquid are spaces.
  const text = partsOf(source).text.withoutLiquid
  const found: Array<Found> = []
  for (const notation of notations) {
    for (const match of text.matchAll(notation.pattern)) {
      const write = replacementOf(notation, match)
      if (write !== undefined) found.push({ begin: match.index, text: match[0], write })
    }
  }
  return found
}

/** Tokens of Marketo that are also Liquid. */
const marketoTokens: ReadonlyArray<Notation> = [
  { platform: "Marketo", pattern: /^(?:campaign|program|trigger)\.[^|{}]+$/, write: ofPlatform },
  {
    platform: "Marketo",
    pattern: /^(?:company|lead|member|my)\.(\w+)$/,
    write: ([, name = ""]) => `{{ ${fieldOf(name)} }}`,
  },
]

const foundInOutputs = (source: string, own: ReadonlyArray<Notation>): ReadonlyArray<Found> =>
  partsOf(source).liquid.flatMap(({ begin, inner, kind, text }) => {
    if (kind !== "output") return []
    for (const notation of [...own, ...foreignOutputs, ...goTemplates]) {
      const groups = notation.pattern.exec(inner)
      const write = groups === null ? undefined : replacementOf(notation, groups)
      if (write !== undefined) return [{ begin, text, write }]
    }
    return []
  })

/** Converts one source. `platform` is the name of the platform in the tables: its weaker signs are converted, too. */
export const convertPlaceholders = (result: Result, platform: string | undefined): void => {
  const weak = platform === undefined ? [] : weakNotations.filter((notation) => notation.platform.includes(platform))
  const { source } = result
  const own = platform === undefined ? [] : partsWithoutEquivalent.filter((notation) => notation.platform === platform)
  const all = [
    ...foundInOutputs(source, platform === "Marketo" ? marketoTokens : []),
    ...foundIn(source, [...own, ...linkElements, ...strongNotations, ...weak]),
  ]
    .toSorted((one, other) => one.begin - other.begin || other.text.length - one.text.length)
  let from = 0
  for (const { begin, text, write } of all) {
    if (begin < from) continue
    result.emit(source.slice(from, begin), from)
    from = begin + text.length
    const field = usable.exec(write)
    if (field === null) {
      const remedy = /^[{<]/.test(write) ? `Write ${write}` : write
      result.find("mend", begin, text, remedy)
      // The braces prevent that the part is saved as a text.
      result.keep(/^[%[]/.test(text) ? `{{ ${text} }}` : text, begin, remedy)
    } else {
      if (field[1] !== undefined && field[1] !== "unsubscribe_url") result.field(text, field[1])
      result.emit(write, begin)
    }
  }
  result.emit(source.slice(from), from)
}
