// Compares parsing with `json/Json.ts` and with `JSON.parse`, and adding keys to a `SeededMap` and to a `Map`.
//
//     deno task bench json
import * as Json from "../src/json/Json.ts"
import { SeededMap } from "../src/json/SeededMap.ts"
import { integerText, seededText } from "../test/support/collisions.ts"

const list = <A>(length: number, make: (index: number) => A): Array<A> =>
  Array.from({ length }, (_, index) => make(index))

const generate = {
  template_id: "welcome",
  user_id: "u-1234",
  fields: { name: "Ann", city: "Rome", n: 3 },
  attrs: { tier: "gold", age: 34, country: "it", langs: ["it", "en"] },
  tracking_id: crypto.randomUUID(),
}
const event = (index: number) => ({
  event: "click",
  tracking_id: crypto.randomUUID(),
  user_id: `user-${index}`,
  occurred_at: "2026-03-01T10:00:00Z",
  value: index * 1.25,
  properties: { url: `https://example.org/a?x=${index}`, device: "mobile", ok: true, list: [1, 2, 3], nothing: null },
})

/** Returns the time of one call: the minimum of many rounds. Unit: microseconds. */
const microsOf = (call: () => unknown): number => {
  let best = Infinity
  const until = performance.now() + 1_000
  for (let calls = 1; performance.now() < until;) {
    const began = performance.now()
    for (let i = 0; i < calls; i++) call()
    const millis = performance.now() - began
    best = Math.min(best, millis * 1_000 / calls)
    if (millis < 2) calls *= 2
  }
  return best
}

const line = (what: string, own: number, native: number) =>
  console.log(
    `  ${what.padEnd(38)} ${own.toFixed(1).padStart(10)} ${native.toFixed(1).padStart(10)} ${
      (own / native).toFixed(2).padStart(7)
    }`,
  )

const texts: ReadonlyArray<readonly [string, unknown]> = [
  ["a Generate body", generate],
  ["3,300 events", list(3_300, event)],
  ["95,000 ids as numbers", list(95_000, (index) => 1_000_000_000 + index * 7_919)],
  ["87,000 ids as strings", list(87_000, (index) => String(1_000_000_000 + index * 7_919))],
  ["24,000 UUIDs as names", Object.fromEntries(list(24_000, () => [crypto.randomUUID(), 1]))],
  ["80,000 integer-like strings that collide", list(80_000, integerText)],
]
console.log("Parsing, µs                                    Json.parse JSON.parse    times")
for (const [what, value] of texts) {
  const text = JSON.stringify(value)
  line(`${what}, ${text.length} bytes`, microsOf(() => Json.parse(text)), microsOf(() => JSON.parse(text)))
}

// Each round parses its keys again, because V8 stores the hash in a text.
const filled = (keys: string, make: () => { set: (key: string, value: number) => unknown }) => {
  const all = Json.parse(keys) as ReadonlyArray<string>
  const map = make()
  for (const key of all) map.set(key, 1)
}
const lists: ReadonlyArray<readonly [string, (index: number) => string]> = [
  ["20,000 UUIDs", () => crypto.randomUUID()],
  ["20,000 integer-like texts that collide", integerText],
  ["2,000 other texts that collide", seededText],
]
console.log("Parsing and adding to a map, µs                 SeededMap        Map    times")
for (const [what, make] of lists) {
  const keys = JSON.stringify(list(Number(what.split(" ")[0]!.replace(",", "")), make))
  line(what, microsOf(() => filled(keys, () => new SeededMap())), microsOf(() => filled(keys, () => new Map())))
}
