// Measures HTML e-mails of up to 512 kB: deno task bench html. The rows are as MJML writes them, with a conditional
// comment for Outlook, a condition, three outputs and a link in each. Prints the median and the slowest of 30 runs.
import { Result } from "effect"
import { tagLinks } from "../src/rendering/Links.ts"
import { parseVars, render } from "../src/rendering/Renderer.ts"
import { isParsed, parse } from "../src/rendering/Source.ts"
import { track } from "../src/tracking/Rewriting.ts"

const row = (i: number) =>
  `<!--[if mso | IE]><table align="center" border="0" cellpadding="0" cellspacing="0" style="width:600px;" width="600"` +
  ` ><tr><td style="line-height:0px;font-size:0px;mso-line-height-rule:exactly;"><![endif]-->
{% if items[${i}].price > 10 and show %}<div style="margin:0px auto;max-width:600px;"><table align="center" border="0"` +
  ` cellpadding="0" cellspacing="0" role="presentation" style="width:100%;"><tbody><tr><td style="direction:ltr;` +
  `font-size:0px;padding:20px 0;text-align:center;"><div class="mj-column-per-100 mj-outlook-group-fix" style="` +
  `font-size:0px;text-align:left;direction:ltr;display:inline-block;vertical-align:top;width:100%;">` +
  `{{ items[${i}].name | default: "Shoes" | upcase }}<a href="https://shop.example/p/{{ items[${i}].id }}?utm_source=` +
  `mail" style="display:inline-block;background:#414141;color:#ffffff;">{{ items[${i}].price | round: 2 }}</a></div>` +
  `</td></tr></tbody></table></div>{% else %}<p>{{ other }}</p>{% endif %}
`

/** A body of at most `length` characters, with its rows evenly padded if there may be only `links` of them. */
const bodyOf = (length: number, links = Math.floor(length / row(100).length)) => {
  const padding = " ".repeat(Math.max(0, Math.floor(length / links) - row(100).length))
  return Array.from({ length: links }, (_, i) => row(i) + padding).join("")
}

const items = Array.from({ length: 1_000 }, (_, id) => ({ id, name: `shoe ${id}`, price: 20 + id }))

const runs = 30

const measured = (run: () => unknown): string => {
  const times = Array.from({ length: runs }, () => {
    const start = performance.now()
    run()
    return performance.now() - start
  }).sort((a, b) => a - b)
  return `${times[runs / 2]!.toFixed(1)} (${times.at(-1)!.toFixed(1)})`
}

console.log("| body | Liquid | parse, ms | render | tag links | rewrite for tracking |")
console.log("| ---: | -----: | --------: | -----: | --------: | -------------------: |")
for (const body of [bodyOf(100_000), bodyOf(300_000, 200), bodyOf(300_000), bodyOf(500_000)]) {
  const parsed = parse(body, "html")
  if (!isParsed(parsed)) throw new Error(parsed.message)
  const sources = Result.getOrThrow(parseVars({ body }, { body: "html" }))
  const rendered = () => Result.getOrThrow(render(sources, { items, show: true }, { strict: false, now: 0 }))["body"]!
  const tagged = tagLinks(rendered(), { domains: ["shop.example"], trackingId: "message-1" })
  const cells = [
    body.length,
    parsed.liquidLength,
    measured(() => parse(body, "html")),
    measured(rendered),
    measured(() => tagLinks(rendered(), { domains: ["shop.example"], trackingId: "message-1" })),
    measured(() =>
      track({
        id: "message-1",
        vars: { body: tagged },
        html: ["body"],
        text: [],
        body: "body",
        sources: [body],
        kept: [],
        clicks: true,
        opens: true,
        pixelUrl: () => "https://t.example/o",
        clickUrl: (link) => `https://t.example/c/${link}`,
      })
    ),
  ]
  console.log(`| ${cells.join(" | ")} |`)
}
