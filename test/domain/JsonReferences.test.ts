import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import process from "node:process"
import { parseRequest } from "../../src/json/JsonParser.ts"
import * as Json from "../../src/json/Json.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

// Compares `Json.parse` with two other parsers, and them with each other: V8's JSON.parse and PostgreSQL. None of the
// three is taken for right. They may only differ as `rules` says.

const count = Number(process.env["JSON_TEXTS"] ?? 10_000)
const batchSize = 2_500

/** A generator of uniform integers (mulberry32), so that a seed repeats its texts. */
const seeded = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor(((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32 * below)
  }
}
type Random = ReturnType<typeof seeded>

const pick = <A>(random: Random, all: ReadonlyArray<A>): A => all[random(all.length)]!

/** Few names, so that objects of one shape meet names that resemble one another. */
const names = [
  ...'a|b|city|country|prénom|pr\\u00|straße|名|名字|Ж|__proto__|constructor|toString|0|1|01|4294967294|4294967295||a/b|\\|\\\\|"'
    .split("|"),
  "\u007f",
  "\u0000",
  "tab\there",
  "line\nbreak",
  "\ud83c\udf82",
  "\ud800",
  "\udc00x",
  "n".repeat(65),
]
const words = [
  ...names,
  "\ufeff",
  "\u2028",
  "long text that V8 would share with the whole body",
  "é".repeat(20),
  "x".repeat(13),
]
const numbers =
  "0 -0 1 -1 7 1.5 -0.25 1e3 1E-3 1e+2 123456789012345 9007199254740991 9007199254740992 9007199254740993 -9007199254740993 12345678901234567890 0.1234567890123456789 1e21 1e300 2.5e-300 100000000000000000000000"
    .split(" ")

const escapedUnit = (random: Random, unit: string): string => {
  const hex = unit.charCodeAt(0).toString(16).padStart(4, "0")
  return `\\u${random(2) === 0 ? hex : hex.toUpperCase()}`
}

/** A JSON string: characters as they are, where this is allowed, or escaped in one of the ways there are. */
const quoted = (random: Random, text: string): string => {
  const way = random(4)
  if (way === 0) return JSON.stringify(text)
  let made = ""
  for (let at = 0; at < text.length; at++) {
    const unit = text[at]!
    const plain = JSON.stringify(unit).slice(1, -1)
    made += way === 1 || random(3) === 0 ? escapedUnit(random, unit) : unit === "/" && random(2) === 0 ? "\\/" : plain
  }
  return `"${made}"`
}

const space = (random: Random): string => random(4) === 0 ? pick(random, [" ", "\n", "\t", "\r\n"]) : ""

const value = (random: Random, depth: number): string => {
  const kind = random(depth > 5 ? 4 : 7)
  if (kind === 0) return pick(random, ["true", "false", "null"])
  if (kind === 1) return random(3) === 0 ? String(random(1_000_000)) : pick(random, numbers)
  if (kind <= 3) return quoted(random, pick(random, words))
  const length = random(5)
  const inside = () => value(random, depth + 1)
  const parts = Array.from(
    { length },
    () =>
      kind === 4
        ? `${space(random)}${inside()}${space(random)}`
        : `${space(random)}${quoted(random, pick(random, names))}${space(random)}:${space(random)}${inside()}`,
  )
  return kind === 4 ? `[${parts.join()}]` : `{${parts.join()}}`
}

/** Damage to a text: most of it makes it wrong. */
const damage = [
  ..."\" \\ { } [ ] , : - + . e 0 01 1. .5 NaN Infinity undefined 'a' // /**/ \\u \\u12 \\x41 \\' tru {, ,] 0x1 1e 1_0"
    .split(" "),
  "\u0001",
  "\u007f",
  "\ufeff",
  "\u00a0",
  "\u2028",
  "\n",
]

const textOf = (random: Random): string => {
  const depth = random(50) === 0 ? random(200) : 0
  const text = `${"[".repeat(depth)}${space(random)}${value(random, 0)}${space(random)}${"]".repeat(depth)}`
  if (random(5) > 0) return text
  const at = random(text.length + 1)
  return text.slice(0, at) + (random(3) === 0 ? "" : pick(random, damage)) + text.slice(at + random(2))
}

/** Strings and the beginnings of objects that are not empty. Strings come first, so that a brace in one is none. */
const objects = /"(?:[^"\\]|\\.)*"|\{(?!\s*\})/gs
let freshNames = 0

/** A text whose objects each begin with a name that no object had before: names after it are compared with none. */
const fresh = (text: string): string =>
  text.replace(objects, (found) => found === "{" ? `{"fresh ${freshNames++}":0,` : found)

const withoutFresh = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(withoutFresh)
  const kept = Object.entries(value).filter(([name]) => !name.startsWith("fresh "))
  return kept.reduce<object>(
    (made, [name, member]) =>
      Object.defineProperty(made, name, { value: withoutFresh(member), enumerable: true, configurable: true }),
    {},
  )
}

/** The numbers of a text. Strings come first, so that digits in one are none. */
const literals = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs

/**
 * A text with each number as `Json.parse` must read it: an integer beyond 2^53 as its digits, also with zeros after a
 * point.
 */
const withDigits = (text: string): string =>
  text.replace(literals, (found) => {
    const [, digits] = /^(-?[1-9]\d*)(?:\.0+)?$/.exec(found) ?? []
    return digits === undefined || Number.isSafeInteger(Number(found)) ? found : `"${digits}"`
  })

/** The JSON of a parsed value, with its names in their order; undefined for a text that is not JSON. */
const jsonOf = (parse: () => unknown): string | undefined => {
  try {
    return JSON.stringify(parse())
  } catch {
    return undefined
  }
}

/** By rule, V8 reads the text with digits and fresh names: it has doubles only, and mistakes names with escapes. */
const ofV8 = (text: string): string | undefined => jsonOf(() => withoutFresh(JSON.parse(fresh(withDigits(text)))))

/**
 * By rule, PostgreSQL gets no NUL and no half of a surrogate pair outside of escapes: its connection cannot carry them.
 */
const isSendable = (text: string) => text.isWellFormed() && !text.includes("\u0000")

interface Verdicts {
  readonly isJson: boolean
  /** Whether the values are equal; null where `jsonb` cannot have them. */
  readonly isEqual: boolean | null
}

/** All strings of a text, and the colon behind a name: a name may begin with a colon itself. */
const strings = /"((?:[^"\\]|\\.)*)"(:?)/gs

/** Whether a value's JSON has a member name with a control character. */
const hasControlName = (json: string): boolean =>
  [...json.matchAll(strings)].some(([, text, colon]) =>
    colon === ":" && /\\[bfnrt]|\\u00[01]|\u007f/.test(text!.replaceAll("\\\\", ""))
  )

const isPolluted = () => Object.keys(Object.prototype).length > 0

describe("Json.parse, JSON.parse and PostgreSQL", () => {
  layer(layerMigrated(temporaryEnvironment), { excludeTestServices: true })((it) => {
    it.effect(`agree on ${count} texts`, () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const seed = Number(process.env["JSON_SEED"] ?? Date.now() % 2 ** 31)
        const random = seeded(seed)
        let valid = 0
        let compared = 0
        for (let done = 0; done < count; done += batchSize) {
          const texts = Array.from({ length: Math.min(batchSize, count - done) }, () => textOf(random))
          const own = texts.map((text) => jsonOf(() => Json.parse(text)))
          for (const [index, text] of texts.entries()) {
            const json = own[index]
            const equal = (what: string, found: string | undefined, expected: string | undefined) => {
              if (found !== expected) {
                assert.strictEqual(found, expected, `${what}, seed ${seed}: ${JSON.stringify(text)}`)
              }
            }
            equal("Json.parse and JSON.parse", json, ofV8(text))
            equal(
              "parseRequest",
              jsonOf(() => parseRequest(text)),
              json !== undefined && hasControlName(json) ? undefined : json,
            )
            if (json === undefined) {
              continue
            }
            valid++
            // A large number with an exponent is written with all its digits.
            equal("Json.parse of what it has read", jsonOf(() => Json.parse(json)), withDigits(json))
          }
          const sent = texts.flatMap((text, index) => isSendable(text) ? [{ text, json: own[index] }] : [])
          // `jsonb` has no U+0000 and no half of a pair, and no order of names. Numbers are compared as doubles are
          // written.
          const rows = yield* sql<Verdicts>`
            SELECT pg_input_is_valid(t.text, 'json') AS is_json,
              CASE WHEN t.json IS NOT NULL AND pg_input_is_valid(t.digits, 'jsonb') AND pg_input_is_valid(t.json, 'jsonb')
                THEN t.digits::jsonb = t.json::jsonb END AS is_equal
            FROM unnest(${sent.map(({ text }) => text)}::text[], ${
            sent.map(({ text }) => asDoubles(withDigits(text)))
          }::text[],
              ${sent.map(({ json }) => json ?? null)}::text[]) WITH ORDINALITY AS t (text, digits, json, place)
            ORDER BY t.place`
          for (const [index, { json, text }] of sent.entries()) {
            const { isEqual, isJson } = rows[index]!
            if (isJson !== (json !== undefined) || isEqual === false) {
              assert.fail(`PostgreSQL differs, seed ${seed}: ${JSON.stringify(text)}`)
            }
            if (isEqual === true) compared++
          }
        }
        assert.isFalse(isPolluted())
        // The texts are of every kind.
        assert.isAbove(valid, count / 2)
        assert.isBelow(valid, count * 0.98)
        assert.isAbove(compared, count / 4)
      }))
  })
})

/** A text with each number as a double is written. */
const asDoubles = (text: string): string =>
  text.replace(literals, (found) => found.startsWith('"') ? found : JSON.stringify(Number(found)))
