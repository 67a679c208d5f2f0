import { assert, describe, it } from "@effect/vitest"
import { type AttributeScheme, Contexts, decodeContext, emptyScheme, encodeContext } from "../../src/bandit/Contexts.ts"
import {
  additionalContexts,
  ContextRecorder,
  distinctValues,
  provenValues,
  recordedNames,
} from "../../src/learning/ContextRecorder.ts"
import { seeded } from "../support/load.ts"

const attrsOf = (values: Readonly<Record<string, string>>) =>
  new Map(Object.entries(values).map(([name, value]) => [name, [value]]))

/** Records requests one after the other under a scheme that may change in between. */
const recording = (initial: AttributeScheme = emptyScheme) => {
  const recorder = new ContextRecorder()
  let contexts = new Contexts(initial)
  const record = (values: Readonly<Record<string, string>>, userId?: string, hourOfWeek = 9) => {
    const attrs = attrsOf(values)
    return recorder.record(contexts, contexts.contextOf(attrs, hourOfWeek), { attrs, userId }, 0).context
  }
  return {
    record,
    read: (values: Readonly<Record<string, string>>, userId?: string) =>
      Object.fromEntries(decodeContext(record(values, userId))),
    follow: (scheme: AttributeScheme) => contexts = new Contexts(scheme),
  }
}

const builtIn = { daypart: "morning", weekend: "weekday" }
const planScheme: AttributeScheme = { keys: [{ name: "plan", values: ["free", "pro"] }] }

describe("ContextRecorder", () => {
  it("records attributes that the model does not use yet, from the first request", () => {
    const { read } = recording()
    assert.deepStrictEqual(read({ plan: "pro", country: "no" }), { ...builtIn, plan: "pro", country: "no" })
    assert.deepStrictEqual(read({ plan: "free" }), { ...builtIn, plan: "free", country: "missing" })
    assert.deepStrictEqual(read({}), { ...builtIn, plan: "missing", country: "missing" })
    assert.deepStrictEqual(read({ country: "missing" }), { ...builtIn, plan: "missing", country: "other" })
    assert.deepStrictEqual(read({ country: "x".repeat(101) }), { ...builtIn, plan: "missing", country: "other" })
    assert.deepStrictEqual(read({ plan: "", ["x".repeat(101)]: "a" }), { ...builtIn, plan: "", country: "missing" })
  })

  it("records the model's attributes with the model's values, and the unchanged context if there are no others", () => {
    const { read, record } = recording(planScheme)
    const contexts = new Contexts(planScheme)
    assert.strictEqual(record({ plan: "pro" }), contexts.contextOf(attrsOf({ plan: "pro" }), 9).key)
    assert.deepStrictEqual(read({ plan: "team", tier: "gold" }), { ...builtIn, plan: "other", tier: "gold" })
    assert.deepStrictEqual(read({ tier: "gold" }), { ...builtIn, plan: "missing", tier: "gold" })
  })

  it("takes the built-in attributes from the scheme", () => {
    const { read } = recording({ keys: [], builtIns: ["weekend"] })
    assert.deepStrictEqual(read({ daypart: "noon", weekend: "yes", plan: "pro" }), { weekend: "weekday", plan: "pro" })
  })

  it("returns one canonical context for the same attributes in any order", () => {
    const { record } = recording()
    const context = record({ plan: "a&b=c", "Café": "ü" })
    assert.strictEqual(context, record({ "Café": "ü", plan: "a&b=c" }))
    assert.strictEqual(context, encodeContext(decodeContext(context)))
  })

  it("records earlier requests so that a later model reads them with its own attributes", () => {
    const { follow, record } = recording()
    const users = Array.from({ length: 60 }, (_, n) => ({ plan: ["free", "pro", "team"][n % 3]!, tier: `t${n % 5}` }))
    const contexts = users.map((user) => record(user))
    const later = new Contexts({ ...planScheme, builtIns: [] })
    assert.deepStrictEqual(
      contexts.slice(1).map((context) => later.parse(context).key),
      users.slice(1).map((user) => later.contextOf(attrsOf(user), 0).key),
    )
    follow(planScheme)
    assert.deepStrictEqual(decodeContext(record(users[0]!)).get("plan"), "free")
    assert.deepStrictEqual(decodeContext(record(users[0]!)).get("tier"), "t0")
  })

  it("records at most 12 attributes in order of arrival, including the attributes of the model", () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`k${n}`, "v"]))
    for (const scheme of [emptyScheme, planScheme]) {
      const { read } = recording(scheme)
      read({ first: "v" })
      const { daypart: _, weekend: __, ...recorded } = read(many)
      assert.strictEqual(Object.keys(recorded).length, recordedNames)
      assert.strictEqual(recorded["first"], "missing")
      assert.strictEqual(recorded["k0"], "v")
    }
  })

  it("stops recording an attribute with more than 50 values, unless the model uses it", () => {
    const { follow, read } = recording()
    for (let n = 0; n < 2 * distinctValues; n++) read({ plan: "pro", state: `s${n % distinctValues}` })
    assert.strictEqual(read({ plan: "pro", state: "s7" })["state"], "s7")
    assert.notProperty(read({ plan: "pro", state: "new" }), "state")
    assert.notProperty(read({ plan: "pro", state: "s7" }), "state")
    follow({ keys: [{ name: "state", values: ["s7"] }] })
    assert.strictEqual(read({ state: "s7" })["state"], "s7")
    assert.strictEqual(read({ state: "s8" })["state"], "other")
  })

  it("stops recording values beyond the first 12 if most occur once, until they occur again", () => {
    const { read } = recording()
    for (let n = 0; n < provenValues; n++) assert.strictEqual(read({ id: `u${n}` })["id"], `u${n}`)
    assert.notProperty(read({ id: "u12" }), "id")
    for (let n = 0; n < provenValues; n++) assert.notProperty(read({ id: `u${n}` }), "id")
    assert.strictEqual(read({ id: "u12" })["id"], "u12")
  })

  it("never records an attribute that identifies people", () => {
    const { read } = recording()
    const recorded = [
      read({ plan: "pro", email: "ann@example.com", account: "u-17" }, "U-17"),
      read({ plan: "pro", email: "none", account: "u-18" }, "u-19"),
    ]
    assert.deepStrictEqual(recorded, [{ ...builtIn, plan: "pro" }, { ...builtIn, plan: "pro" }])
  })

  it("keeps at most 512 contexts for any requests, and records attributes with few values longest", () => {
    const { follow, record } = recording()
    const contexts = new Set<string>()
    let flagged = 0
    for (let n = 0; n < 20_000; n++) {
      const values = {
        flag: `${n % 2}`,
        ...Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`k${i}`, `v${n * (i + 7) % 41}`])),
      }
      const context = record(values, undefined, n % 168)
      if (n > 10_000 && decodeContext(context).has("flag")) flagged++
      contexts.add(context)
    }
    const modelled = 8
    assert.isBelow(contexts.size, additionalContexts + modelled)
    assert.strictEqual(flagged, 9_999)

    // Names that are made up make no room for more, nor does a model under the same scheme.
    for (let n = 0; n < 3_000; n++) {
      follow({ keys: [] })
      contexts.add(record({ [`made${n}`]: `up${n}`, flag: "0" }))
    }
    assert.isBelow(contexts.size, additionalContexts + modelled)
  })

  it("makes room for new contexts when the model changes its attributes", () => {
    const { follow, read } = recording()
    for (let n = 0; n < 2_000; n++) read({ plan: "pro", wide: `w${n % 40}`, wider: `w${n % 41}` })
    assert.deepStrictEqual(read({ plan: "pro", tier: "t0" }), { ...builtIn, plan: "pro", tier: "t0" })
    follow(planScheme)
    for (let n = 0; n < 40; n++) {
      const values = { plan: ["free", "pro"][n % 2]!, tier: `t${n % 10}`, region: `r${n % 8}` }
      assert.deepStrictEqual(read(values), { ...builtIn, ...values })
    }
  })

  it("limits a context to a few kilobytes", () => {
    const { record } = recording()
    const long = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`${n}${"é".repeat(48)}`, "ü".repeat(50)]))
    assert.isBelow(record(long).length, 7_300)
  })
})

describe("extra attributes", () => {
  const now = 1_800_000_000_000
  const extra = (initial: AttributeScheme = emptyScheme) => {
    const recorder = new ContextRecorder()
    let contexts = new Contexts(initial)
    const record = (values: Readonly<Record<string, string>>, userId?: string, at = now) => {
      const attrs = attrsOf(values)
      return recorder.record(contexts, contexts.contextOf(attrs, 9), { attrs, userId }, at)
    }
    return {
      record,
      extraAttributes: (values: Readonly<Record<string, string>>, userId?: string) => {
        const { extraAttributes } = record(values, userId)
        return extraAttributes === undefined ? undefined : Object.fromEntries(decodeContext(extraAttributes))
      },
      follow: (scheme: AttributeScheme) => contexts = new Contexts(scheme),
    }
  }
  const twelve = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`a${i}`, "x"]))
  const listed = Array.from({ length: 12 }, (_, i) => `c${i}`)

  it("are the attributes without a place in the context, present or missing", () => {
    const { extraAttributes } = extra()
    assert.isUndefined(extraAttributes({ ...twelve }))
    assert.deepStrictEqual(extraAttributes({ ...twelve, more: "A&b=c" }), { more: "A&b=c" })
    assert.deepStrictEqual(extraAttributes({ ...twelve, other: "missing" }), { more: "missing", other: "other" })
    assert.deepStrictEqual(extraAttributes({ more: "x".repeat(101) }), { more: "other", other: "missing" })
  })

  it("complete the context to all attributes of a request, for any number of combinations", () => {
    const { record } = extra()
    const random = seeded(3)
    for (let i = 0; i < 3000; i++) {
      const values = Object.fromEntries(Array.from({ length: 12 }, (_, j) => [`k${j}`, `v${Math.floor(random() * 5)}`]))
      const { context, extraAttributes } = record(values, undefined, now + i * 2000)
      const known = new Map([...decodeContext(context), ...decodeContext(extraAttributes ?? "")])
      // Requests at which attributes lose their place in contexts may be recorded without them.
      if (i > 2000) { for (const [name, value] of Object.entries(values)) assert.strictEqual(known.get(name), value) }
    }
  })

  it("include unlisted values if the model lists as many as it can", () => {
    const { extraAttributes } = extra({
      keys: [{ name: "country", values: listed }, { name: "plan", values: ["pro"] }],
    })
    assert.isUndefined(extraAttributes({ country: "c3", plan: "pro" }))
    assert.deepStrictEqual(extraAttributes({ country: "no", plan: "free" }), { country: "no" })
    assert.isUndefined(extraAttributes({ plan: "free" }))
  })

  it("exclude attributes that identify people", () => {
    const { extraAttributes } = extra()
    const more = (value: string, user?: string) => extraAttributes({ ...twelve, more: value, tier: "gold" }, user)
    assert.deepStrictEqual(more("x"), { more: "x", tier: "gold" })
    assert.deepStrictEqual(more("ann@example.com"), { tier: "gold" })
    assert.deepStrictEqual(more("x"), { tier: "gold" })
    const { extraAttributes: ofUser } = extra()
    assert.isUndefined(ofUser({ ...twelve, more: "ann-1" }, "Ann-1"))
  })

  it("include the value at which an attribute loses its place in the context", () => {
    const { extraAttributes } = extra()
    for (let i = 0; i < distinctValues; i++) assert.isUndefined(extraAttributes({ city: `c${i}` }))
    assert.deepStrictEqual(extraAttributes({ city: "c-next" }), { city: "c-next" })
  })

  it("exclude an attribute with more than 200 values, and round numbers", () => {
    const { extraAttributes } = extra()
    const all = (i: number) => extraAttributes({ ...twelve, city: `c${i}`, spent: `${1000 + i}` })
    for (let round = 0; round < 3; round++) for (let i = 0; i < 150; i++) all(i)
    assert.deepStrictEqual(all(149), { city: "c149", spent: "1149" })
    for (let i = 150; i < 220; i++) all(i)
    assert.deepStrictEqual(all(230), { spent: "1200" })
  })

  it("are limited to 20 per request and to 2,000 requests per hour", () => {
    const { extraAttributes, record } = extra()
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`k${i}`, "x"]))
    assert.lengthOf(Object.keys(extraAttributes(many)!), 20)
    for (let i = 1; i < 2000; i++) record(many)
    assert.isUndefined(record(many).extraAttributes)
    assert.isDefined(record(many, undefined, now + 3_600_000).extraAttributes)
  })

  it("follow the scheme", () => {
    const { follow, extraAttributes } = extra()
    extraAttributes({ ...twelve, more: "x" })
    follow({ keys: [{ name: "more", values: ["x"] }] })
    // The scheme takes the place of one of the twelve.
    assert.deepStrictEqual(extraAttributes({ ...twelve, more: "x" }), { a9: "x" })
    follow({ keys: [{ name: "a0", values: ["x"] }] })
    assert.deepStrictEqual(extraAttributes({ ...twelve, more: "x" }), { a9: "x" })
  })
})
