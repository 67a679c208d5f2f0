import { escapedText, integerText, seededText } from "../../support/collisions.ts"
import type { Attack, Target } from "../Attack.ts"

// Texts whose hashes collide in V8's tables, wherever a caller may put thousands of them.

const list = <A>(length: number, make: (index: number) => A): Array<A> =>
  Array.from({ length }, (_, index) => make(index))
const strings = (length: number, text: (index: number) => string) => `[${list(length, text).join()}]`
const quoted = (text: (index: number) => string) => (index: number) => JSON.stringify(text(index))
const names = (length: number, text: (index: number) => string, from = 0) =>
  `{${list(length, (index) => `${JSON.stringify(text(from + index))}:0`).join()}}`

const integers = strings(80_000, quoted(integerText))
const seeded = strings(33_000, quoted(seededText))
/** Doubles that differ in their highest bits only, which V8's hash of a number mixes least. */
const numbers = strings(50_000, (index) => String((index + 1) * 2 ** 22))

const withFields = (fields: string, more = "") => `{"template_id":"welcome"${more},"fields":${fields}}`

const posting = (name: string, body: string, path = "generate"): Attack => ({
  name: `strings: ${name}`,
  bytes: body.length,
  run: async ({ org, send }) => [await send("POST", `/api/${path}/${org}`, body)],
})

/** A template of the attacker that lists its field `a` through a filter. */
const filtering = (filter: string, name: string, values: string): Attack => {
  const body = `{"template_id":"strings-${filter.slice(0, 5)}","fields":{"a":${values}}}`
  return {
    name: `strings: ${filter} of ${name}`,
    bytes: body.length,
    run: async ({ org, send, service }) => {
      const id = `strings-${filter.slice(0, 5)}`
      await service.manage("POST", `/organizations/${org}/templates`, {
        id,
        name: id,
        variants: [{ id: "a", vars: { subject: `{{ a | ${filter} | size }}` } }],
      })
      return [await send("POST", `/api/generate/${org}`, body)]
    },
  }
}

const inARow = async ({ org, send }: Target, bodies: ReadonlyArray<string>) => {
  const statuses: Array<number> = []
  for (const body of bodies) statuses.push(await send("POST", `/api/generate/${org}`, body))
  return statuses
}

const manyBodies = list(100, (index) => withFields(names(150, seededText, 100_000 + 150 * index)))
const events = (member: string) =>
  `[${list(5_000, (index) => `{"event":"click","tracking_id":"t","${member}":${quoted(seededText)(index)}}`).join()}]`
const deepNames = `[${list(20_000, (index) => `{${JSON.stringify(seededText(index))}:0}`).join()}]`
const query = list(300, (index) => `fields[${encodeURIComponent(seededText(200_000 + index))}]=x`).join("&")

export const attacks: ReadonlyArray<Attack> = [
  posting("80,000 integer-like strings", withFields(`{"a":${integers}}`)),
  posting("60,000 integer-like strings with an escape", withFields(`{"a":${strings(60_000, escapedText)}}`)),
  posting("74,000 integer-like names", withFields(names(74_000, integerText))),
  posting("80,000 integer-like strings and a fault at the end", `${withFields(`{"a":${integers}}`).slice(0, -1)},}`),
  posting("33,000 strings of one hash", withFields(`{"a":${seeded}}`)),
  posting("20,000 names of one hash", withFields(names(20_000, seededText))),
  posting("20,000 objects, each with a name of one hash", withFields(`{"a":${deepNames}}`)),
  posting("1,000 attributes of one hash", withFields("{}", `,"attrs":${names(1_000, seededText, 50_000)}`)),
  posting(
    "a batch with names of one hash",
    `{"requests":[{"template_id":"welcome"}],"fields":${names(20_000, seededText)}}`,
    "batch-generate",
  ),
  posting(
    "a delivery with names of one hash",
    withFields(names(20_000, seededText), ',"email":"a@example.org"'),
    "deliver",
  ),
  posting("5,000 event ids of one hash", events("id"), "webhook/events"),
  posting("5,000 users of one hash", events("user_id"), "webhook/events"),
  posting("500,000 integer-like names in events", names(500_000, integerText), "webhook/events"),
  posting(
    "names of one hash in events",
    `[{"event":"click","tracking_id":"t","x":${names(20_000, seededText)}}]`,
    "webhook/events",
  ),
  {
    name: "strings: 100 bodies of 150 new names of one hash each",
    bytes: manyBodies[0]!.length,
    run: (target) => inARow(target, manyBodies),
  },
  {
    name: "strings: 300 names of one hash in a query, 20 times",
    bytes: query.length,
    run: async ({ org, send }) => {
      const statuses: Array<number> = []
      for (let i = 0; i < 20; i++) {
        statuses.push(await send("GET", `/api/generate/${org}?template_id=welcome&${query}`))
      }
      return statuses
    },
  },
  filtering("uniq", "integer-like strings", integers),
  filtering("uniq", "strings of one hash", seeded),
  filtering("uniq", "numbers", numbers),
  filtering(
    "group_by: 'x'",
    "objects by strings of one hash",
    `[${list(20_000, (index) => `{"x":${quoted(seededText)(index)}}`).join()}]`,
  ),
]
