import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { execFileSync } from "node:child_process"
import * as Json from "../../src/json/Json.ts"
import { NameCost } from "../../src/json/NameCost.ts"
import { integerText, seededText } from "../support/collisions.ts"

/** The result of a parser: a value, or the class of the error. */
const outcome = (parse: (text: string) => unknown, text: string) => {
  try {
    return { value: parse(text) }
  } catch (error) {
    return { error: (error as Error).constructor }
  }
}

/**
 * Whether a text has a number whose digits `Json.parse` keeps, or a name with escapes, which `JSON.parse` may mistake.
 */
const isDifferent = (text: string) => /\d{16}/.test(text) || /\\[^"]*"\s*:/.test(text)

const sameAsNative = (text: string) => {
  const native = outcome(JSON.parse, text)
  const own = outcome(Json.parse, text)
  assert.strictEqual(own.error, native.error, JSON.stringify(text))
  if (isDifferent(text)) return
  assert.deepStrictEqual(own, native, JSON.stringify(text))
  // The order of names counts too.
  assert.strictEqual(JSON.stringify(own.value), JSON.stringify(native.value))
}

/** A double as PostgreSQL writes its JSON in a `jsonb` column: without exponent. */
const plainDigits = (value: number): string => {
  const [, sign, first, rest = "", exponent] = /^(-?)(\d)(?:\.(\d+))?e\+(\d+)$/.exec(value.toExponential())!
  return `${sign}${first}${rest}${"0".repeat(Number(exponent) - rest.length)}`
}

const messageOf = (text: string): string => {
  try {
    Json.parse(text)
  } catch (error) {
    return Json.explain(error)
  }
  return "is parsed"
}

const scalars = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.integer({ min: 0, max: 2 ** 33 }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
)
const names = fc.oneof(
  fc.constantFrom("a", "b", "__proto__", "constructor", "toString", "0", "01", "4294967294", "4294967295", ""),
  fc.string({ unit: "binary", maxLength: 80 }),
)
/** JSON texts whose objects may have a name twice, with white space and escapes in permitted places. */
const texts = fc.letrec<{ value: string; list: string; object: string; scalar: string }>((tie) => {
  const space = fc.stringMatching(/^[ \t\r\n]{0,2}$/)
  const spaced = (text: fc.Arbitrary<string>) => fc.tuple(space, text, space).map((parts) => parts.join(""))
  const quoted = fc.tuple(fc.oneof(names, fc.string({ unit: "binary" })), fc.boolean()).map(([text, isEscaped]) =>
    isEscaped
      ? `"${Array.from(text.split(""), (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")}"`
      : JSON.stringify(text)
  )
  return {
    scalar: spaced(fc.oneof(scalars.map((value) => JSON.stringify(value)), quoted)),
    list: spaced(fc.array(tie("value"), { maxLength: 5 }).map((items) => `[${items.join(",")}]`)),
    object: spaced(
      fc.array(fc.tuple(spaced(quoted), tie("value")), { maxLength: 6 })
        .map((members) => `{${members.map(([name, value]) => `${name}:${value}`).join(",")}}`),
    ),
    value: fc.oneof({ depthSize: "small" }, tie("scalar"), tie("list"), tie("object")),
  }
}).value

describe("Json.parse", () => {
  it("equals JSON.parse for every value", () => {
    fc.assert(fc.property(texts, sameAsNative), { numRuns: 3_000 })
  })

  it("equals JSON.parse for texts damaged at one position", () => {
    const damaged = fc.tuple(
      texts,
      fc.nat(),
      fc.oneof(
        fc.constantFrom("", '"', "\\", "{", "}", "[", "]", ",", ":", "-", "0", "e", ".", "u", "\n"),
        fc.string(),
      ),
    ).map(([text, place, insert]) => {
      const at = place % (text.length + 1)
      return text.slice(0, at) + insert + text.slice(at + (insert === "" ? 1 : 0))
    })
    fc.assert(fc.property(damaged, sameAsNative), { numRuns: 5_000 })
  })

  it("equals JSON.parse for texts of JSON's characters in any order", () => {
    const tokens = fc.constantFrom(...'{}[],:"\\ \n-+.eE019utrfn', "true", "null", "\\u00e9", '"a"', "\ufeff", "\u2028")
    fc.assert(fc.property(fc.array(tokens, { maxLength: 12 }).map((all) => all.join("")), sameAsNative), {
      numRuns: 5_000,
    })
  })

  it("equals JSON.parse for numbers in any notation", () => {
    const written = ["0", "-0", "-0.0", "1e999", "-1e999", "1E-400", "0.1e+2", "123456789012345", "1234567890123456768"]
    const wrong = ["01", "-", "+1", "1.", ".5", "1e", "1e+", "0x10", "NaN", "Infinity", "--1", "1_0", "-a"]
    for (const text of [...written, ...wrong]) sameAsNative(text)
    assert.isTrue(Object.is(Json.parse("-0"), -0))
    fc.assert(fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => sameAsNative(String(value))))
    fc.assert(fc.property(fc.stringMatching(/^-?\d{1,25}(\.\d{1,25})?([eE][+-]?\d{1,3})?$/), sameAsNative))
  })

  it("reads names with escapes, independent of earlier objects of the same shape", () => {
    const shapes: ReadonlyArray<readonly [before: string, first: string, second: string]> = [
      ["", "\\\\", "\\/"],
      ["", "\\\\", "\\u540d"],
      ['"a":1,', "\\\\", "\\/"],
      ['"a":1,', "\\\\", "\\u540d"],
      ['"4294967295":1,', "\\\\", "\\u540d"],
      ['"1":1,', "\\\\", "\\u540d"],
      ['"":1,', "\\\\", "\\u540d"],
      ['"":1,', "\\\\", "\\u0061"],
      ['"":1,', "\\\\\\\\", "\\u540d\\u540d"],
      ['"country":1,', "pr\\\\u00", "pr\\u00e9nom"],
      ['"country":1,', "stra\\\\u00", "stra\\u00dfe\\n"],
      ['"country":1,', "\\\\u0438\\\\", "\\u0438\\u043c\\u044f"],
    ]
    for (const [before, first, second] of shapes) {
      for (const wrap of [(text: string) => text, (text: string) => `{"t":[${text}]}`]) {
        for (let round = 0; round < 3; round++) {
          const text = wrap(`{${before}"${first}":1}`)
          Json.parse(text)
          JSON.parse(text)
        }
        const found = JSON.stringify(Json.parse(wrap(`{${before}"${second}":1}`)))
        const name = JSON.stringify(Json.parse(`"${second}"`))
        assert.strictEqual(found, wrap(`{${before}${name}:1}`), second)
      }
    }
  })

  it("reads an integer beyond 2^53 as a text of its digits", () => {
    const digits = [
      "9007199254740992",
      "9007199254740993",
      "-9007199254740993",
      "12345678901234567890",
      "1000000000000000000000",
      "1".repeat(400),
    ]
    for (const text of digits) assert.deepStrictEqual(Json.parse(`[{"a":${text}}]`), [{ a: text }])
    assert.strictEqual(Json.parse("12345678901234567890.00"), "12345678901234567890")
    const doubles = [
      "9007199254740991",
      "-9007199254740991",
      "0.12345678901234567890",
      "1e21",
      "10000000000000000000.5",
    ]
    for (const text of doubles) assert.strictEqual(Json.parse(text), Number(text))
    const [one, other] = Json.parse("[9007199254740992,9007199254740993]") as ReadonlyArray<unknown>
    assert.notStrictEqual(String(one), String(other))
  })

  it("reads stored doubles as numbers, even if PostgreSQL wrote them without exponent", () => {
    for (const value of [1e21, 1.5e22, -1e23, 123456789012345680000, 2 ** 60, 1.7976931348623157e308]) {
      assert.strictEqual(Json.parseStored(plainDigits(value)), value)
    }
    assert.strictEqual(Json.parseStored("12345678901234567890"), "12345678901234567890")
  })

  it("reads strings with and without escapes", () => {
    const long = "abcdefghijklmnopqrstuvwxyz"
    const written: ReadonlyArray<readonly [text: string, value: string]> = [
      [`"${long}"`, long],
      [`"${long}\\n${long}"`, `${long}\n${long}`],
      [`"\\"${long}\\""`, `"${long}"`],
      [`"\\\\${long}\\/"`, `\\${long}/`],
      [`"\\ud83d\\ude00${long}\\uD83D\\uDE00"`, `\u{1f600}${long}\u{1f600}`],
      ['"\\b\\f\\n\\r\\t"', "\b\f\n\r\t"],
      [`"${"\\u0031".repeat(10)}"`, "1".repeat(10)],
      [`"${"\\u0031".repeat(11)}"`, "1".repeat(11)],
      [`"${`${long}\\"\\ud800`.repeat(500)}"`, `${long}"\ud800`.repeat(500)],
    ]
    for (const [text, value] of written) assert.strictEqual(Json.parse(text), value)
  })

  it("keeps a long string with escapes in one piece, without an object for each escape", () => {
    const grown = execFileSync(Deno.execPath(), [
      "eval",
      "--v8-flags=--expose-gc",
      `import * as Json from ${JSON.stringify(new URL("../../src/json/Json.ts", import.meta.url).href)}
      const text = JSON.stringify({ body: "<a href=\\"https://shop.example/\\">offer</a>\\n".repeat(1000) })
      const used = () => { globalThis.gc(); return process.memoryUsage().heapUsed }
      const before = used()
      const kept = Array.from({ length: 50 }, () => Json.parse(text))
      console.log((used() - before) / kept.length / kept[0].body.length)
      process.exit()`,
    ], { encoding: "utf8" })
    assert.isBelow(Number(grown), 1.5)
  })

  it("keeps lone surrogates, `__proto__` as an ordinary member, and the last of two members of one name", () => {
    for (const text of ['"\\ud800"', '"\ud800 longer than the others"', '{"\\udc00":"\\ud83d\\ude00"}']) {
      sameAsNative(text)
    }
    const parsed = Json.parse('{"a":1,"__proto__":{"admin":true},"a":2,"\\u005f_proto__":3}') as Record<string, unknown>
    assert.deepStrictEqual(Object.entries(parsed), [["a", 2], ["__proto__", 3]])
    assert.strictEqual(Object.getPrototypeOf(parsed), Object.prototype)
    assert.isUndefined(({} as { admin?: boolean }).admin)
  })

  it("accepts any depth", () => {
    const depth = 500_000
    let value = Json.parse(`${'[{"a":'.repeat(depth)}1${"}]".repeat(depth)}`)
    for (let level = 0; level < depth; level++) value = (value as ReadonlyArray<{ a: unknown }>)[0]!.a
    assert.strictEqual(value, 1)
    assert.match(
      messageOf("[".repeat(depth)),
      /^is not valid JSON: expected a value, but the text ends at position 500000/,
    )
  })

  it("reports what it expected and found, with the position", () => {
    assert.strictEqual(
      messageOf('{\n  "a": 1,\n  b: 2\n}'),
      'is not valid JSON: expected a member name in double quotes, found "b" at position 14 (line 3 column 3)',
    )
    assert.strictEqual(
      messageOf("{"),
      "is not valid JSON: expected a member name in double quotes, but the text ends at position 1 (line 1 column 2)",
    )
    assert.match(messageOf("[1 2]"), /expected "," or "\]", found "2" at position 3/)
    assert.match(messageOf('{"a" 1}'), /expected ":", found "1" at position 5/)
    assert.match(messageOf('{"a":1]'), /expected "," or "}", found "]" at position 6/)
    assert.match(messageOf('"a'), /expected a closing quote, but the text ends at position 2/)
    assert.match(
      messageOf('"a\tb"'),
      /expected an escape such as \\n for a control character, found "\\t" at position 2/,
    )
    assert.match(messageOf('"\\q"'), /found "q" at position 2/)
    assert.match(messageOf('"\\u00g0"'), /expected four hexadecimal digits after \\u, found "g" at position 5/)
    assert.match(messageOf("1 \ud800"), /expected the end of the text, found "\\ud800" at position 2/)
  })

  it("parses strings with colliding hashes like all others", () => {
    const list = (text: (index: number) => string) => Array.from({ length: 131_000 }, (_, index) => text(index))
    const integers = list(integerText)
    assert.deepStrictEqual(Json.parse(JSON.stringify(integers)), integers)
    const escaped = Json.parse(`[${integers.map((text) => `"\\u003${text[0]}${text.slice(1)}"`).join()}]`)
    assert.deepStrictEqual(escaped, integers)
    const names = Object.keys(Json.parse(`{${integers.map((text) => `"${text}":0`).join()}}`) as object)
    assert.strictEqual(names.length, integers.length)
    const seeded = list(seededText)
    assert.deepStrictEqual(Json.parse(JSON.stringify(seeded)), seeded)
  })

  it("parses many different names, but rejects thousands with colliding hashes", () => {
    const object = (name: (index: number) => string, length: number) =>
      `{${Array.from({ length }, (_, index) => `${JSON.stringify(name(index))}:${index}`).join()}}`
    sameAsNative(object((index) => `member-${index}`, 50_000))
    assert.throws(() => Json.parse(object(seededText, 20_000)), Json.NamesCollide)
    const spread = Array.from({ length: 20_000 }, (_, index) => `{${JSON.stringify(seededText(index))}:0,"a":1}`)
    assert.throws(() => Json.parse(`[${spread.join()}]`), Json.NamesCollide)
    assert.strictEqual(
      Json.explain(new Json.NamesCollide()),
      "has too many member names that collide. Send fewer distinct names",
    )
  })
})

describe("NameCost", () => {
  const refusedAfter = (steps: Iterable<readonly [names: number, millis: number]>): number | undefined => {
    const cost = new NameCost()
    let step = 0
    for (const [names, millis] of steps) {
      step++
      if (cost.add(names, millis)) return step
    }
    return undefined
  }
  const steps = (length: number, millisOf: (step: number) => number) =>
    Array.from({ length }, (_, step) => [8, millisOf(step)] as const)

  it("accepts any number of names at the usual cost", () => {
    assert.isUndefined(refusedAfter(steps(100_000, () => 0.1)))
  })

  it("accepts pauses: a few long ones, and many that are far apart", () => {
    assert.isUndefined(refusedAfter(steps(7, () => 500)))
    assert.isUndefined(refusedAfter(steps(100_000, (step) => step % 50 === 0 ? 30 : 0.01)))
  })

  it("rejects slow names in a row or mixed with others", () => {
    assert.strictEqual(refusedAfter(steps(1_000, () => 3)), 8)
    assert.isDefined(refusedAfter(steps(10_000, (step) => step % 4 === 0 ? 3 : 0.01)))
  })

  it("measures every name once names are slow", () => {
    const cost = new NameCost()
    assert.strictEqual(cost.namesPerStep, 8)
    cost.add(8, 3)
    assert.strictEqual(cost.namesPerStep, 1)
    for (let step = 0; step < 16; step++) cost.add(1, 0.01)
    assert.strictEqual(cost.namesPerStep, 8)
  })

  it("accepts slow but short sequences", () => {
    assert.isUndefined(refusedAfter(steps(60, () => 0.3)))
  })
})
