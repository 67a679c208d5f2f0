import type { Attack, Target } from "../Attack.ts"

// Templates, fields and attributes that make choosing and rendering expensive: each template is saved with little data,
// under which it is harmless, and asked for with data that makes it slow.

type Json = Readonly<Record<string, unknown>>

/** The templates of one attack, and the requests that are sent for them at once. */
interface Batch {
  readonly name: string
  readonly template: Json
  readonly fields?: Json | undefined
  readonly attrs?: Json | undefined
  readonly trace?: boolean
}

const items = 20

/** A text below the least double: rounding it takes all of its digits. */
const tiny = (at: number) => `2.4703282292062327${"2082799".repeat(50)}${at % 10}e-324`
const million = "a".repeat(900_000)
const list = <A>(length: number, make: (index: number) => A): Array<A> => Array.from({ length }, (_, i) => make(i))
const object = (length: number, make: (index: number) => readonly [string, unknown]) =>
  Object.fromEntries(Array.from({ length }, (_, i) => make(i)))

/** Runs `body` a million times where the fields say so. */
const looped = (body: string) => `{% for i in (1..n) %}{% for j in (1..n) %}${body}{% endfor %}{% endfor %}`

const variant = (source: string, more: Json = {}) => ({
  variants: [{ id: "v", vars: { body: source }, formats: { body: "html" }, ...more }],
})

/** Bodies of a loop, by the fields that make them slow. */
const loops: ReadonlyArray<readonly [name: string, fields: Json, bodies: ReadonlyArray<string>]> = [
  ["digits", { l: list(1_400, tiny), o: list(800, (i) => ({ a: tiny(i) })), d: tiny(1) }, [
    "{% assign s = l | sum %}",
    '{% assign s = o | sum: "a" %}',
    "{% assign s = d | plus: d | minus: d | times: d | divided_by: d | modulo: d %}",
    "{% if d < 1 or d > 1 or d <= 1 or d >= 1 %}{% endif %}",
    "{% assign s = l | sort %}",
    "{% for x in l limit: d offset: d %}{% endfor %}",
  ]],
  ["a large object", { o: object(45_000, (i) => [`key ${i}`, i]) }, [
    "{% assign s = o | json: 10 %}",
    "{% assign s = o.size %}{% assign s = o[o] %}",
    "{% for x in o %}{% endfor %}",
    '{% assign s = o | group_by: "a" %}{% assign s = o | where: "a" %}',
  ]],
  ["a long list", { l: list(60_000, (i) => ({ a: i })) }, [
    "{% assign s = l | json %}",
    '{% assign s = l | map: "a" | sort | uniq | reverse | join %}',
    '{% assign s = l | sort_natural: "a" | group_by: "a" %}',
    '{% assign s = l | where: "a", 1 | concat: l %}{% if l contains l %}{% endif %}',
    "{% for x in l reversed limit: 1 offset: 1 %}{% endfor %}",
  ]],
  ["numeric identifiers", { l: list(80_000, (i) => String(8_192 * (i + 1))) }, [
    "{% assign s = l | uniq %}",
    "{% for x in l %}{% assign s = l | uniq | group_by: x %}{% endfor %}",
  ]],
  ["nested lists", { l: list(30_000, () => [[[[[1]]]]]) }, [
    "{% assign s = l | json | size %}{{ l }}",
    "{% if l == l %}{% endif %}{% assign s = l | uniq | sort %}",
  ]],
  ["a long text", { a: million, b: `${"a".repeat(30_000)}b${"a".repeat(30_000)}` }, [
    '{% assign s = a | split: "" %}{% assign s = a | split: "a" %}',
    '{% assign s = a | replace: b, "x" | remove_last: b %}{% if a contains b %}{% endif %}',
    "{% assign s = a | sha256 | hmac_sha256: a | base64_encode %}",
    "{% assign s = a | upcase | strip: a | truncatewords: 9 | slugify %}{% if a == blank %}{% endif %}",
  ]],
  ["accents and markup", { a: "é-<a>&amp; ".repeat(80_000), b: "ŉxé".repeat(1_000) }, [
    '{% assign s = a | slugify: "latin" | url_encode %}',
    "{% assign s = a | strip_html | escape_once | newline_to_br %}",
    '{% assign s = a | squish | number_of_words: "cjk" %}',
    "{% assign s = b | strip: b | lstrip: b | rstrip: b %}{{ a }}",
  ]],
  ["names of zones", { z: list(1_000, (i) => `Area/Zone${i}`) }, ['{% assign s = 0 | date: "%c", z[j] %}']],
]

const slowLoops: ReadonlyArray<Batch> = loops.flatMap(([name, fields, bodies]) =>
  bodies.map((body): Batch => ({
    name: `${name}: ${body.length > 60 ? `${body.slice(0, 60)}…` : body}`,
    template: variant(looped(body)),
    fields: { ...fields, n: 1_000 },
  }))
)

const condition = (op: string, value: unknown) => ({ attribute: "a", op, values: [value] })
const audience = (op: string, value: unknown, variants: number) => ({
  variants: list(variants, (i) => ({
    id: `v${i}`,
    vars: { body: "x" },
    targeting: list(50, () => condition(op, value)),
  })),
})
/** An attribute of as many values as there may be, and one of as long values as there may be. */
const values = list(1_000, (i) => `value ${i}`)
const longValues = list(20, (i) => `${"a".repeat(990)}${i}`)

const others: ReadonlyArray<Batch> = [
  { name: "empty loops", template: variant(looped("")), fields: { n: 1e9 } },
  {
    name: "output that doubles itself",
    template: variant(
      "{% capture a %}0123456789{% endcapture %}{% for i in (1..n) %}" +
        "{% capture a %}{{ a }}{{ a }}{% endcapture %}{% endfor %}{{ a }}",
    ),
    fields: { n: 40 },
  },
  {
    name: "as much output as there may be",
    template: { variants: [{ id: "v", vars: { a: "{{ a }}", b: "{{ a }}" } }] },
    fields: { a: million },
  },
  {
    name: "output of lone surrogates",
    template: { variants: [{ id: "v", vars: { a: "{{ a }}{{ a }}{{ a }}{{ a }}{{ a }}{{ a }}" } }] },
    fields: { a: "\ud800".repeat(150_000) },
  },
  {
    name: "many links to tag",
    template: { ...variant(looped("<a href=//shop.example>")), link_domains: ["shop.example"] },
    fields: { n: 200 },
  },
  {
    name: "links to hosts beyond ASCII",
    template: { ...variant("{{ a | raw }}"), link_domains: list(50, (i) => `shop${i}.example`) },
    fields: {
      a: `<a href=//${String.fromCharCode(...list(200, (i) => 0x4e00 + i * 7))}>`.repeat(1_000),
    },
  },
  {
    name: "undefined names in a strict template",
    template: { ...variant(`{% if n %}${looped("{{ u[j].x.y.z }}{{ v }}{{ w[i] }}")}{% endif %}`), strict: true },
    fields: { n: 1_000 },
  },
  {
    name: "sources that take long to parse",
    template: { variants: [{ id: "v", vars: { a: "{{a}}".repeat(13_000) } }] },
    fields: { a: "x" },
  },
  {
    name: "search of long values in targeting",
    template: audience("contains", `${"a".repeat(250)}b${"a".repeat(150)}`, 40),
    attrs: { a: longValues },
  },
  {
    name: "long values looked up in targeting",
    template: {
      variants: list(40, (i) => ({
        id: `v${i}`,
        vars: { body: "x" },
        targeting: list(50, () => ({ attribute: "a", op: "not_in", values: list(20, (value) => `x${value}`) })),
      })),
    },
    attrs: { a: longValues },
  },
  { name: "values left out in targeting", template: audience("is_not", "x", 40), attrs: { a: values } },
  { name: "numbers in targeting", template: audience("gt", 1e300, 40), attrs: { a: list(50, (i) => tiny(i)) } },
  {
    name: "targeting, traced",
    template: audience("is_not", "x", 40),
    attrs: { a: values },
    trace: true,
  },
  {
    name: "seasons of many variants, traced",
    template: {
      variants: list(100, (i) => ({
        id: `v${i}`,
        vars: { body: "x" },
        seasons: list(50, () => ({ days: ["mon"], hours: { from: 3, to: 3 }, annual: { from: "01-01", to: "01-02" } })),
      })),
    },
    trace: true,
  },
]

/** Imports 20 templates of one kind under names of their own; answers the statuses. */
const importTemplates = async ({ org, service }: Target, prefix: string, template: Json) => {
  const statuses: Array<number> = []
  // Each in a body of its own, since some are as large as a body may be.
  for (let at = 0; at < items; at++) {
    const templates = [{ id: `${prefix}-${at}`, name: prefix, ...template }]
    const { status } = await service.manage("POST", `/organizations/${org}/templates/import`, { templates })
    statuses.push(status)
  }
  return statuses
}

const bodyOf = (prefix: string, { attrs, fields, trace }: Batch) =>
  JSON.stringify({
    requests: list(items, (i) => ({ template_id: `${prefix}-${i}` })),
    user_id: "u",
    ...(fields === undefined ? {} : { fields }),
    ...(attrs === undefined ? {} : { attrs }),
    ...(trace === undefined ? {} : { trace }),
  })

const batches = [...slowLoops, ...others].map((batch, at): Attack => {
  const prefix = `liquid-${at}`
  return {
    name: `batch of ${items}: ${batch.name}`,
    bytes: bodyOf(prefix, batch).length,
    run: async (target) => {
      const imported = await importTemplates(target, prefix, batch.template)
      const single = JSON.stringify({ template_id: `${prefix}-0`, fields: batch.fields, attrs: batch.attrs })
      return [
        ...imported,
        await target.send("POST", `/api/batch-generate/${target.org}`, bodyOf(prefix, batch)),
        await target.send("POST", `/api/generate/${target.org}`, single),
      ]
    },
  }
})

/** Previews of unsaved templates, through the management API. */
const previews = [...slowLoops.filter((_, at) => at % 3 === 0), ...others].map((batch): Attack => {
  const [first] = batch.template["variants"] as ReadonlyArray<Json>
  const { formats, vars } = first!
  const body = {
    vars,
    ...(formats === undefined ? {} : { formats }),
    fields: batch.fields ?? {},
    attrs: batch.attrs ?? {},
  }
  return {
    name: `preview: ${batch.name}`,
    bytes: JSON.stringify(body).length,
    run: async ({ org, service }) => [
      (await service.manage("POST", `/organizations/${org}/templates/welcome/preview`, body)).status,
    ],
  }
})

const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`

/** Fields as texts, too deep or too odd to be encoded from values. */
const raw: ReadonlyArray<readonly [name: string, fields: string]> = [
  ["an object nested 100,000 deep", `{"a":${deep(100_000)}}`],
  ["a list nested 400,000 deep", `{"a":${"[".repeat(400_000)}${"]".repeat(400_000)}}`],
  ["a number of 900,000 digits", `{"a":${"9".repeat(900_000)}}`],
  ["a text of 900,000 digits", `{"a":"${"9".repeat(900_000)}"}`],
  ["30,000 objects nested 5 deep", `{"a":[${list(30_000, () => deep(4)).join(",")}]}`],
]

const shapes = raw.map(([name, fields]): Attack => ({
  name: `fields of ${name}`,
  bytes: fields.length,
  run: async (target) => {
    const { org, send } = target
    const source =
      "{{ a }}{{ a | json }}{{ a | plus: a }}{% if a == a and a < a %}{% endif %}{{ a | sort | uniq | size }}"
    const imported = await importTemplates(target, "shapes", variant(source))
    const requests = JSON.stringify(list(items, (i) => ({ template_id: `shapes-${i}` })))
    return [
      ...imported,
      await send("POST", `/api/generate/${org}`, `{"template_id":"shapes-0","fields":${fields}}`),
      await send("POST", `/api/batch-generate/${org}`, `{"requests":${requests},"fields":${fields}}`),
    ]
  },
}))

/** Generate by GET, whose whole request is a line of a few kilobytes. */
const queries = loops.map(([name, , [body]], at): Attack => {
  const fields = {
    n: 1e9,
    a: "9".repeat(3_000),
    b: "a",
    d: tiny(1),
    l: list(1_000, (i) => i % 10),
    o: { a: 1 },
    z: ["x"],
  }
  const query = new URLSearchParams({ template_id: `get-${at}-0`, fields: JSON.stringify(fields) })
  return {
    name: `GET: ${name}`,
    bytes: String(query).length,
    run: async (target) => [
      ...await importTemplates(target, `get-${at}`, variant(looped(body!))),
      ...await Promise.all(list(5, () => target.send("GET", `/api/generate/${target.org}?${query}`))),
    ],
  }
})

/** Attacks on the thread that chooses and renders. */
export const attacks: ReadonlyArray<Attack> = [...batches, ...previews, ...shapes, ...queries]
