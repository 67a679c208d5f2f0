import { password } from "../../console/furnished.ts"
import { signInTo } from "../../console/shop.ts"
import type { Attack, Target } from "../Attack.ts"

// Input of authors: template files, imports, mappings, previews and forms, each of the largest permitted size.

type Session = Awaited<ReturnType<typeof signInTo>>

const sessions = new Map<string, Promise<Session>>()

/** An admin of the attacker's organization, signed in to the console. */
const sessionOf = ({ org, service }: Target): Promise<Session> => {
  const known = sessions.get(service.url)
  if (known !== undefined) return known
  const signIn = async () => {
    const email = "attacker@example.com"
    const { body } = await service.manage("POST", "/accounts", { email, name: "Attacker", password })
    await service.manage("PUT", `/organizations/${org}/members/${body.id}`, { role: "admin" })
    return await signInTo(service, email)
  }
  const session = signIn()
  sessions.set(service.url, session)
  return session
}

const repeat = (text: string, bytes: number) => text.repeat(Math.floor(bytes / text.length))

const lines = (line: (at: number) => string, bytes: number) => {
  let text = ""
  for (let at = 0; text.length < bytes; at++) text += line(at)
  return text
}

const kB = 1000

/** A template file pasted into the import page of the console. */
const file = (name: string, text: string): Attack => ({
  name: `YAML: ${name}`,
  bytes: new URLSearchParams({ text }).toString().length,
  run: async (target) => {
    const { post } = await sessionOf(target)
    return [(await post(`/console/o/${target.org}/templates/-/import`, { text })).status]
  },
})

const files: ReadonlyArray<Attack> = [
  file("300 kB of faults in a flow sequence", `[${repeat(",", 300 * kB)}]`),
  file("300 kB of [", repeat("[", 300 * kB)),
  file("300 kB of ]", repeat("]", 300 * kB)),
  file("300 kB of { a: ", repeat("{ a: ", 300 * kB)),
  file("a billion laughs", lines((at) => `a${at}: &a${at} [${repeat(`*a${at - 1},`, at === 0 ? 0 : 60)}]\n`, 4 * kB)),
  file(
    "aliases up to the limit, of templates",
    `x: &v [${repeat("{},", 30 * kB)}]\ntemplates:\n${repeat("- {variants: *v}\n", 300 * kB)}`,
  ),
  file("30,000 anchors and aliases", lines((at) => `- &a${at} x\n- *a${at}\n`, 300 * kB)),
  file("a long plain scalar", `a: ${repeat("b\n ", 300 * kB)}`),
  file("a key 75,000 times", repeat("a:\n", 225 * kB)),
  file("keys that are numbers", lines((at) => `${at * 8192}: 1\n`, 300 * kB)),
  file("tabs as indentation", repeat("a:\n\tb: c\n", 200 * kB)),
  file("block scalars", repeat("- |\n", 200 * kB)),
  file("a block scalar of blank lines", `a: |\n${repeat(`${" ".repeat(500)}\n`, 500 * kB)}`),
  file("unresolved tags", repeat("!a ", 250 * kB)),
  file("escapes that do not exist", `a: "${repeat("\\q", 150 * kB)}"`),
  file("100,000 documents", repeat("---\n", 300 * kB)),
  file("150,000 templates that are numbers", `templates: [${repeat("1,", 300 * kB)}]`),
  file(
    "2,000 variants with Liquid",
    `templates:\n${
      [0, 1].map((t) =>
        `- id: y${t}\n  name: x\n  variants:\n${
          Array.from({ length: 1000 }, (_, v) => `  - {id: v${v}, vars: {s: "Hi {{ n }} ${v}"}}\n`).join("")
        }`
      ).join("")
    }`,
  ),
]

/** Requests of the management API with JSON bodies. */
const request = (
  name: string,
  method: string,
  path: (org: string) => string,
  body: unknown,
  times = 1,
): Attack => ({
  name,
  bytes: JSON.stringify(body).length,
  run: async ({ org, service }) =>
    await Promise.all(
      Array.from({ length: times }, async () =>
        (await service.manage(method, `/organizations/${org}/${path(org)}`, body)).status),
    ),
})

const variantsOf = (count: number, source: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => ({ id: `v${at}`, vars: { subject: source(at) } }))

const slowLiquid = `{% for i in (1..1000) %}{% for j in (1..1000) %}{{ i | times: j }}{% endfor %}{% endfor %}`

const imports: ReadonlyArray<Attack> = [
  request("import of 6,000 variants", "POST", () => "templates/import", {
    templates: [0, 1, 2, 3, 4, 5].map((t) => ({
      id: `t${t}`,
      name: "x",
      variants: variantsOf(1000, (v) => `Hello {{ name }} ${t} ${v}`),
    })),
  }),
  request("import of 2,000 variants", "POST", () => "templates/import", {
    templates: [0, 1].map((t) => ({
      id: `t${t}`,
      name: "x",
      variants: variantsOf(1000, (v) => `Hello {{ name }} ${v}`),
    })),
  }),
  request("import of 2,000 variants that differ from those before", "POST", () => "templates/import", {
    templates: [0, 1].map((t) => ({
      id: `t${t}`,
      name: "x",
      variants: variantsOf(1000, (v) => `Bye {{ name }} ${v}`),
    })),
  }),
  request("import of 1,000 templates", "POST", () => "templates/import", {
    templates: Array.from(
      { length: 1000 },
      (_, t) => ({ id: `one${t}`, name: "x", variants: variantsOf(2, () => "x") }),
    ),
  }),
  request("import of 340,000 templates without anything", "POST", () => "templates/import", {
    templates: Array.from({ length: 340_000 }, () => ({})),
  }),
  request("import of variants that never end", "POST", () => "templates/import", {
    templates: [{ id: "slow", name: "x", variants: variantsOf(1000, (v) => `${slowLiquid}${v}`) }],
  }),
  request("template with 80,000 variants", "POST", () => "templates", {
    id: "wide",
    name: "x",
    variants: Array.from({ length: 80_000 }, () => ({ vars: {} })),
  }),
  request("template with 1,000 variants", "POST", () => "templates", {
    name: "x",
    variants: variantsOf(1000, (v) => `Hello {{ name }} ${v}`),
  }),
  request("variant with 100,000 variables", "POST", () => "templates/welcome/variants", {
    vars: Object.fromEntries(Array.from({ length: 80_000 }, (_, at) => [`a${at}`, 1])),
  }),
  request("conditions with 250,000 values", "PATCH", () => "templates/welcome/variants/a", {
    targeting: [{ attribute: "a", op: "in", values: Array.from({ length: 250_000 }, () => null) }],
  }),
]

const alternates = (path: (at: number) => unknown) => ({ from: Array.from({ length: 16 }, (_, at) => path(at)) })
const everywhere = (path: (at: number) => unknown) => ({
  ...Object.fromEntries(
    ["event", "tracking_id", "template_id", "user", "event_id", "message_id", "occurred_at", "link", "time_zone"]
      .map((name) => [name, alternates(path)]),
  ),
  where: Array.from({ length: 16 }, () => ({ ...alternates(path), op: "not_exists" })),
})

const dryRun = (name: string, mapping: unknown, body: unknown) =>
  request(`mapping tried: ${name}`, "POST", () => "webhooks/events/dry-run", { mapping, body })

/** A body of the events webhook, read by a mapping that was set up before. */
const intake = (name: string, mapping: unknown, body: unknown): Attack => ({
  name: `mapping set up: ${name}`,
  bytes: JSON.stringify(body).length,
  run: async ({ drained, org, send, service }) => {
    const setUp = (settings: unknown) => service.manage("PUT", `/organizations/${org}/webhooks/events`, { settings })
    const put = await setUp({ mapping })
    const sent = await send("POST", `/api/webhook/events/${org}`, JSON.stringify(body))
    await drained()
    await setUp({})
    return [put.status, sent]
  },
})

const listsOf = (items: number, length: number) => ({
  i: Array.from({ length: items }, () => ({ l: Array.from({ length }, () => 1) })),
})
const textsOf = (count: number) => ({
  t: Array.from({ length: count }, (_, at) => JSON.stringify([at, ...Array.from({ length: 47_000 }, () => 1)])),
})

const mappings: ReadonlyArray<Attack> = [
  dryRun("lists", { items: "$.i", ...everywhere((at) => `$.l[*].a${at}`) }, listsOf(500, 999)),
  dryRun("JSON texts", everywhere((at) => ({ path: "$body.t[*]", json: `$.a${at}` })), textsOf(10)),
  dryRun("JSON lists in texts", everywhere((at) => ({ path: "$.t[*]", json: `$[*].a${at}` })), textsOf(10)),
  dryRun("20,000 items", { items: "$.i", ...everywhere((at) => `$.a${at}`) }, {
    i: Array.from({ length: 20_000 }, () => ({})),
  }),
  dryRun("a mapping of 300,000 conditions", {
    event: "$.e",
    user: "$.u",
    where: Array.from({ length: 300_000 }, () => 1),
  }, {}),
  dryRun(
    "parameters of long links",
    { items: "$.i", ...everywhere((at) => ({ path: "$.u", query: `q${at}` })) },
    { i: Array.from({ length: 10 }, () => ({ u: `?${repeat("&", 90 * kB)}${lines((at) => `q${at}&`, 100)}` })) },
  ),
  dryRun("values that are long in the answer", { items: "$.i", event: "$.e", user: "$.u", automated: "$body.m" }, {
    m: repeat("m", 99 * kB),
    i: Array.from({ length: 100 }, () => ({ e: "open", u: "u" })),
  }),
  dryRun("a body nested 400,000 deep", { event: "$.e", user: "$.u" }, `${"[".repeat(400_000)}${"]".repeat(400_000)}`),
  intake("lists in 6 MB", { items: "$.i", ...everywhere((at) => `$.l[*].a${at}`) }, listsOf(3_000, 999)),
  intake("JSON texts in 8 MB", everywhere((at) => ({ path: "$body.t[*]", json: `$.a${at}` })), textsOf(85)),
  intake("three million items", { items: "$.a[*].b[*]", event: "$.e", user: "$.u" }, {
    a: Array.from({ length: 100_000 }, () => ({ b: Array.from({ length: 30 }, () => 1) })),
  }),
]

const previews: ReadonlyArray<Attack> = [
  request("preview with 1 MB of fields", "POST", () => "templates/welcome/preview", {
    copy_id: "a",
    fields: { a: Array.from({ length: 140_000 }, (_, at) => at) },
  }),
  request("preview with colliding fields", "POST", () => "templates/welcome/preview", {
    copy_id: "a",
    fields: { a: Array.from({ length: 80_000 }, (_, at) => String(at * 8192)) },
  }),
  request("preview of sources that never end", "POST", () => "templates/welcome/preview", {
    vars: Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`v${at}`, slowLiquid])),
  }),
  request("20 previews at once of sources that never end", "POST", () => "templates/welcome/preview", {
    vars: Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`v${at}`, slowLiquid])),
  }, 20),
  request("preview of 64 kB sources", "POST", () => "templates/welcome/preview", {
    vars: Object.fromEntries(Array.from({ length: 15 }, (_, at) => [`v${at}`, repeat("{{ a | upcase }}", 65 * kB)])),
  }),
]

/** A page of cards whose texts each take as long as they may. */
const cards: Attack = {
  name: "page of 12 variants, each of which takes long to render",
  bytes: 2_000,
  run: async (target) => {
    const { org, service } = target
    const loop = "{% for i in l %}{% for j in l %}{{ i | times: j }}{% endfor %}{% endfor %}"
    await service.manage("POST", `/organizations/${org}/templates`, {
      id: "cards",
      name: "Cards",
      variants: Array.from({ length: 12 }, (_, at) => ({
        id: `v${at}`,
        vars: Object.fromEntries(["a", "b", "c", "d"].map((name) => [name, loop])),
      })),
    })
    const { get } = await sessionOf(target)
    const fields = JSON.stringify({ l: Array.from({ length: 900 }, (_, at) => at) })
    return [(await get(`/console/o/${org}/templates/cards?${new URLSearchParams({ fields })}`)).status]
  },
}

const form = (name: string, path: string, fields: () => Record<string, string>): Attack => ({
  name: `form: ${name}`,
  bytes: new URLSearchParams(fields()).toString().length,
  run: async (target) => [(await (await sessionOf(target)).post(`/console/o/${target.org}/${path}`, fields())).status],
})

const forms: ReadonlyArray<Attack> = [
  form(
    "100,000 names that collide",
    "templates/welcome/new-variant",
    () => Object.fromEntries(Array.from({ length: 90_000 }, (_, at) => [String(at * 8192), ""])),
  ),
  form("a condition of 150,000 values", "templates/welcome/new-variant", () => ({
    name: "x",
    condition_0_attribute: "a",
    condition_0_op: "in",
    condition_0_values: repeat('"\n', 300 * kB),
  })),
  form("a preview with 900 kB of sample fields", "templates/welcome/preview", () => ({
    name: "x",
    var_0_name: "s",
    var_0_format: "text",
    var_0_source: "{{ a | join: ',' }}",
    fields: JSON.stringify({ a: Array.from({ length: 120_000 }, (_, at) => at) }),
    attrs: "{}",
  })),
  form("a mapping and a body of 400 kB each", "sources/events/dry-run", () => ({
    mapping: `[${repeat("1,", 200 * kB)}1]`,
    body: `[${repeat("1,", 200 * kB)}1]`,
  })),
]

export const attacks: ReadonlyArray<Attack> = [...files, ...imports, ...mappings, ...previews, cards, ...forms]
