import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Json from "../../src/domain/Json.ts"
import { parse as parseLong } from "../../src/domain/JsonParser.ts"
import { NameCost } from "../../src/domain/NameCost.ts"
import { ShortJson } from "../../src/domain/ShortJson.ts"
import { integerText, seededText } from "../support/collisions.ts"

/** The result of a parser: a value, or the class of the error. */
const outcome = (parse: (text: string) => unknown, text: string) => {
  try {
    return { value: parse(text) }
  } catch (error) {
    return { error: (error as Error).constructor }
  }
}

/** As `Json.parse` while nothing collides, by clocks that stand still. */
const parseShort = (text: string): unknown => {
  const stopped = new ShortJson({ now: () => 0, processor: () => 0 })
  return stopped.parse(text) ?? parseLong(text, new NameCost())
}

const sameAsNative = (text: string) => {
  const native = outcome(JSON.parse, text)
  for (const parse of [Json.parse, parseShort, (text: string) => parseLong(text, new NameCost())]) {
    const own = outcome(parse, text)
    assert.deepStrictEqual(own, native, JSON.stringify(text))
    // The order of names counts too.
    assert.strictEqual(JSON.stringify(own.value), JSON.stringify(native.value))
  }
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
/** JSON texts whose objects may have a name twice, and with white space and escapes where they may stand. */
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

  it("equals JSON.parse for texts that were damaged at one place", () => {
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

  it("equals JSON.parse for numbers, however they are written", () => {
    const written = ["0", "-0", "-0.0", "1e999", "-1e999", "1E-400", "0.1e+2", "123456789012345", "1234567890123456789"]
    const wrong = ["01", "-", "+1", "1.", ".5", "1e", "1e+", "0x10", "NaN", "Infinity", "--1", "1_0", "-a"]
    for (const text of [...written, ...wrong]) sameAsNative(text)
    assert.isTrue(Object.is(Json.parse("-0"), -0))
    fc.assert(fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => sameAsNative(String(value))))
    fc.assert(fc.property(fc.stringMatching(/^-?\d{1,25}(\.\d{1,25})?([eE][+-]?\d{1,3})?$/), sameAsNative))
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

  it("takes any depth", () => {
    const depth = 500_000
    let value = Json.parse(`${'[{"a":'.repeat(depth)}1${"}]".repeat(depth)}`)
    for (let level = 0; level < depth; level++) value = (value as ReadonlyArray<{ a: unknown }>)[0]!.a
    assert.strictEqual(value, 1)
    assert.match(
      messageOf("[".repeat(depth)),
      /^is not valid JSON: expected a value, but the text ends at position 500000/,
    )
  })

  it("says what it expected, what it found and where", () => {
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

  it("parses strings that collide in V8's table of strings like all others", () => {
    const list = (text: (index: number) => string) => Array.from({ length: 524_000 }, (_, index) => text(index))
    const integers = list(integerText)
    assert.deepStrictEqual(Json.parse(JSON.stringify(integers)), integers)
    const escaped = Json.parse(`[${integers.map((text) => `"\\u003${text[0]}${text.slice(1)}"`).join()}]`)
    assert.deepStrictEqual(escaped, integers)
    const names = Object.keys(Json.parse(`{${integers.map((text) => `"${text}":0`).join()}}`) as object)
    assert.strictEqual(names.length, integers.length)
    const seeded = list(seededText)
    assert.deepStrictEqual(Json.parse(JSON.stringify(seeded)), seeded)
  })

  it("parses many different names, but not thousands that collide", () => {
    const object = (name: (index: number) => string, length: number) =>
      `{${Array.from({ length }, (_, index) => `${JSON.stringify(name(index))}:${index}`).join()}}`
    sameAsNative(object((index) => `member-${index}`, 50_000))
    assert.throws(() => Json.parse(object(seededText, 20_000)), Json.NamesCollide)
    const spread = Array.from({ length: 20_000 }, (_, index) => `{${JSON.stringify(seededText(index))}:0,"a":1}`)
    assert.throws(() => Json.parse(`[${spread.join()}]`), Json.NamesCollide)
    assert.strictEqual(
      Json.explain(new Json.NamesCollide()),
      "has member names that take too long to store. Send fewer different names, or other ones",
    )
  })
})

describe("ShortJson", () => {
  /**
   * A parser for which the texts take `times` one after another, in milliseconds, and all further ones no time. With `isBusy`, the
   * processor has other work meanwhile.
   */
  const taking = (times: ReadonlyArray<number>, isBusy = false) => {
    let now = 1_000
    let parsed = 0
    const json = new ShortJson({ now: () => now, processor: () => isBusy ? 0 : now }, (text) => {
      now += times[parsed++] ?? 0
      return JSON.parse(text)
    })
    return { json, pass: (millis: number) => now += millis, parsed: () => parsed }
  }

  it("leaves long texts and those that are no JSON to the other parser", () => {
    const json = new ShortJson()
    assert.deepStrictEqual(json.parse(`["${"a".repeat(8_188)}"]`), ["a".repeat(8_188)])
    assert.isUndefined(json.parse(`["${"a".repeat(8_189)}"]`))
    assert.isUndefined(json.parse('{"a":1,}'))
  })

  it("parses nothing for an hour after a text that was slow each time", () => {
    const { json, parsed, pass } = taking(Array(9).fill(0.2))
    assert.deepStrictEqual(json.parse("[1]"), [1])
    assert.strictEqual(parsed(), 9)
    pass(59 * 60_000)
    assert.isUndefined(json.parse("[2]"))
    pass(60_000)
    assert.deepStrictEqual(json.parse("[3]"), [3])
  })

  it("repeats a very slow text twice", () => {
    const { json, parsed } = taking([30, 15, 15])
    assert.deepStrictEqual(json.parse("[1]"), [1])
    assert.isUndefined(json.parse("[2]"))
    assert.strictEqual(parsed(), 3)
  })

  it("goes on after a text that was fast at last, as after a collection of garbage", () => {
    const { json } = taking([500, 0.01, 0.2, 0.2, 0.2, 0.2, 0.01, 500, 300, 0.01])
    for (let value = 0; value < 10; value++) assert.deepStrictEqual(json.parse(`[${value}]`), [value])
  })

  it("goes on where the processor had other work each time", () => {
    const { json } = taking(Array(40).fill(5), true)
    for (let value = 0; value < 20; value++) assert.deepStrictEqual(json.parse(`[${value}]`), [value])
  })

  it("takes a long text for slow later than a short one", () => {
    const long = `["${"a".repeat(8_000)}"]`
    const { json } = taking(Array(20).fill(0.5))
    for (let text = 0; text < 10; text++) assert.isDefined(json.parse(long))
    assert.isDefined(json.parse("[1]"))
    assert.isUndefined(json.parse(long))
  })

  it("counts texts that are no JSON", () => {
    const { json } = taking([30, 15, 15])
    assert.isUndefined(json.parse("[1,]"))
    assert.isUndefined(json.parse("[1]"))
  })

  it("parses texts whose strings collide as it does others", () => {
    const json = new ShortJson()
    for (let round = 0; round < 20; round++) {
      const strings = Array.from({ length: 500 }, (_, index) => integerText(round * 500 + index))
      const text = JSON.stringify(strings)
      assert.deepStrictEqual(json.parse(text) ?? parseLong(text, new NameCost()), strings)
    }
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

  it("accepts pauses: a few long ones, and many that are far from one another", () => {
    assert.isUndefined(refusedAfter(steps(7, () => 500)))
    assert.isUndefined(refusedAfter(steps(100_000, (step) => step % 50 === 0 ? 30 : 0.01)))
  })

  it("refuses names that are slow one after another, or mixed with others", () => {
    assert.strictEqual(refusedAfter(steps(1_000, () => 3)), 8)
    assert.isDefined(refusedAfter(steps(10_000, (step) => step % 4 === 0 ? 3 : 0.01)))
  })

  it("wants every name to be measured once names are slow", () => {
    const cost = new NameCost()
    assert.strictEqual(cost.namesPerStep, 8)
    cost.add(8, 3)
    assert.strictEqual(cost.namesPerStep, 1)
    for (let step = 0; step < 16; step++) cost.add(1, 0.01)
    assert.strictEqual(cost.namesPerStep, 8)
  })

  it("does not refuse what is slow but short", () => {
    assert.isUndefined(refusedAfter(steps(60, () => 0.3)))
  })
})
