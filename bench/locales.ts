// Measures what locales cost a rendering: deno task bench locales [--rounds 60] [--renderings 4000]. One template has its
// texts in one locale, the other in five, and requests ask for six. Both are rendered in turns within one process. The
// result is the median ratio of processor times of neighboring turns. Generate does more than render, so that locales
// cost a smaller share of it.
import { parseArgs } from "node:util"
import { renderChoice } from "../src/decide/RenderChoice.ts"
import { withLocale } from "../src/journal/decisions/DecisionLocale.ts"
import { Budget } from "../src/rendering/Budget.ts"
import type { CopyId } from "../src/domain/Ids.ts"
import type { TemplateView, VariantView } from "../src/templates/TemplateCache.ts"

const { values: flags } = parseArgs({
  args: Deno.args.slice(1),
  options: { rounds: { type: "string", default: "60" }, renderings: { type: "string", default: "4000" } },
})
const [rounds, renderings] = [Number(flags.rounds), Number(flags.renderings)]

const languages = ["en", "de", "de-at", "fr", "pl", "ja"]
const paragraph = "<p>Hello {{ name | default: 'you' }}, {{ items.size }} things wait for you in your cart.</p>\n"
const texts = (locale: string) => ({
  subject: `${locale}: {{ name | default: 'you' }}, your cart`,
  preheader: `${locale}: {% for item in items %}{{ item.title }} {% endfor %}`,
  body: `${locale} ${paragraph.repeat(40)}{% for item in items %}<p>{{ item.title }}: {{ item.price }}</p>{% endfor %}`,
})

const fields = { name: "Ann", items: [{ title: "Tent", price: 149 }, { title: "Tarp", price: 59 }] }
const attrs = languages.map((language) => new Map([["language", [language]]]))

/** A template with four variants, whose texts are in English and in these locales. */
const viewOf = (locales: ReadonlyArray<string>): TemplateView => {
  const variants = Array.from({ length: 4 }, (_, at) => ({
    id: `v${at}`,
    vars: texts("en"),
    formats: { body: "html" },
    locales: Object.fromEntries(locales.map((tag) => [tag, texts(tag)])),
  } as unknown as VariantView))
  return {
    org: { timeZone: "UTC" },
    strict: false,
    linkDomains: [],
    locale: locales.length === 0 ? null : { attribute: "language", default: "en" },
    variantsById: new Map(variants.map((one) => [one.id, one])),
  } as unknown as TemplateView
}

const turn = (view: TemplateView): number => {
  const cpu = process.cpuUsage()
  for (let at = 0; at < renderings; at++) {
    const input = {
      view,
      request: { attrs: attrs[at % attrs.length]!, fields, budget: new Budget() },
      nowMillis: 1_800_000_000_000,
    }
    const answer = renderChoice(input, `v${at % 4}` as CopyId, "id", undefined, false)
    if (answer?._tag === "Chosen") withLocale("daypart=morning&weekend=weekday", answer.locale)
  }
  const { system, user } = process.cpuUsage(cpu)
  return (user + system) / renderings
}

const [one, five] = [viewOf([]), viewOf(["de", "de-AT", "fr", "pl"])]
const ratios: Array<number> = []
const costs: Array<number> = []
for (let round = 0; round < rounds; round++) {
  const isFirst = round % 2 === 0
  const [a, b] = [turn(isFirst ? one : five), turn(isFirst ? five : one)]
  // The compiler needs some rounds.
  if (round < 10) continue
  ratios.push(isFirst ? b / a : a / b)
  costs.push(isFirst ? a : b)
}
const median = (values: ReadonlyArray<number>) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
console.log(
  `${rounds} rounds of ${renderings} renderings: one locale ${median(costs).toFixed(2)} µs, ` +
    `five locales ${((median(ratios) - 1) * 100).toFixed(1)} % more`,
)
