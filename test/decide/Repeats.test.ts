import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import * as Attributes from "../../src/domain/Attributes.ts"
import type { CopyId } from "../../src/domain/Ids.ts"
import type { ExistingDecision } from "../../src/journal/decisions/Decision.ts"
import type { Answer } from "../../src/decide/Answer.ts"
import { differingMembers, type RepeatedRequest, withDifferences } from "../../src/decide/Repeats.ts"

const attributesOf = (attrs: object) => Result.getOrThrow(Attributes.parse(attrs))

const existing = (
  context: Readonly<Record<string, string>>,
  more: Partial<ExistingDecision> = {},
): ExistingDecision => ({
  context: encodeContext(Object.entries({ daypart: "night", weekend: "weekday", ...context })),
  copyId: "a" as CopyId,
  mode: "bandit",
  userId: "ann",
  ...more,
})

const asked = (attrs: object, more: Partial<RepeatedRequest> = {}): RepeatedRequest => ({
  attrs: attributesOf(attrs),
  userId: "ann",
  ...more,
})

describe("a repeated tracking id", () => {
  const same: Readonly<Record<string, readonly [Readonly<Record<string, string>>, object]>> = {
    "equal values": [{ tier: "gold", country: "de" }, { tier: "Gold", country: "DE" }],
    "no attributes": [{}, {}],
    "attributes that the decision does not store": [{ tier: "gold" }, { tier: "gold", session: "f81d4fae" }],
    "an attribute that both lack": [{ tier: "missing" }, {}],
    "an empty list, which is no value": [{ tier: "missing" }, { tier: [] }],
    "a value that the model does not list": [{ city: "other" }, { city: "Bielefeld" }],
    "the first value of a list": [{ interests: "tents" }, { interests: ["tents", "boots"] }],
    "a number in its group": [{ age: "20 to below 35" }, { age: 34 }],
    "a number at the lower bound of its group": [{ age: "20 to below 35" }, { age: "20" }],
    "a number in the lowest group": [{ age: "below 20" }, { age: -3 }],
    "a number in the highest group": [{ age: "65.5 and above" }, { age: 65.5 }],
    "a number that is stored in two digits": [{ balance: "1200" }, { balance: 1234 }],
    "a truth value": [{ member: "true" }, { member: true }],
    "names and values with signs of the key": [{ "a=b&c": "50 % & more" }, { "a=b&c": "50 % & more" }],
    "another hour": [{ daypart: "evening", weekend: "weekend" }, {}],
  }
  for (const [name, [context, attrs]] of Object.entries(same)) {
    it(`is a retry with ${name}`, () => assert.deepStrictEqual(differingMembers(existing(context), asked(attrs)), []))
  }

  const different: Readonly<
    Record<string, readonly [Readonly<Record<string, string>>, object, ReadonlyArray<string>]>
  > = {
    "another value": [{ tier: "gold" }, { tier: "silver" }, ["attrs.tier"]],
    "an attribute that only the first had": [{ tier: "gold" }, {}, ["attrs.tier"]],
    "an attribute that the first lacked": [{ tier: "missing" }, { tier: "gold" }, ["attrs.tier"]],
    "a number of another group": [{ age: "20 to below 35" }, { age: 35 }, ["attrs.age"]],
    "a word where a number was": [{ age: "20 to below 35" }, { age: "unknown" }, ["attrs.age"]],
    "another number of two digits": [{ balance: "1200" }, { balance: 1251 }, ["attrs.balance"]],
    "a name in other capitals": [{ Tier: "gold" }, { tier: "gold" }, ["attrs.Tier"]],
    "two attributes": [{ country: "de", tier: "gold" }, { country: "at", tier: "new" }, [
      "attrs.country",
      "attrs.tier",
    ]],
  }
  for (const [name, [context, attrs, members]] of Object.entries(different)) {
    it(`differs with ${name}`, () => assert.deepStrictEqual(differingMembers(existing(context), asked(attrs)), members))
  }

  it("compares attributes that are stored outside the context", () => {
    const extraAttributes = encodeContext([["city", "köln"]])
    assert.deepStrictEqual(differingMembers(existing({}, { extraAttributes }), asked({ city: "Köln" })), [])
    assert.deepStrictEqual(differingMembers(existing({}, { extraAttributes }), asked({ city: "Bonn" })), ["attrs.city"])
  })

  it("ignores attributes of a profile, which change between two requests", () => {
    const { attrs } = asked({ tier: "gold", visits: 8 })
    const request = asked({}, { attrs, ownAttrs: attributesOf({ tier: "gold" }) })
    assert.deepStrictEqual(differingMembers(existing({ tier: "gold", visits: "7" }), request), [])
    assert.deepStrictEqual(differingMembers(existing({ tier: "new", visits: "7" }), request), ["attrs.tier"])
  })

  it("differs for another user, but not without a user if the first request named one", () => {
    assert.deepStrictEqual(differingMembers(existing({}), asked({}, { userId: "bob" })), ["user_id"])
    assert.deepStrictEqual(differingMembers(existing({}), asked({}, { userId: undefined })), ["user_id"])
    // The first request named nobody, or the person was erased.
    assert.deepStrictEqual(differingMembers(existing({}, { userId: undefined }), asked({})), [])
  })

  it("differs if another variant is forced in either request", () => {
    const of = (copyId: string | undefined, mode: ExistingDecision["mode"] = "bandit") =>
      differingMembers(existing({}, { mode }), asked({}, { copyId: copyId as CopyId | undefined }))
    assert.deepStrictEqual(of("b"), ["copy_id"])
    assert.deepStrictEqual(of("a"), [])
    assert.deepStrictEqual(of("a", "forced"), [])
    assert.deepStrictEqual(of(undefined, "forced"), ["copy_id"])
  })

  it("causes a warning with at most ten names, in printable characters", () => {
    const context = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`größe "${i}";`, "x"]))
    const answer: Answer = { _tag: "None", trackingId: "a;b", reason: "no-candidate" }
    const told = withDifferences(answer, existing(context), asked({}, { userId: "bob" }))
    assert.lengthOf(told.repeated!, 13)
    const [warning = ""] = told.warnings!
    assert.match(warning, /^[\x20-\x7e]+$/)
    assert.notMatch(warning, /;/)
    assert.include(
      warning,
      'the tracking id "a?b" already has a decision, for a request with another user_id, attrs.gr\\u00f6\\u00dfe ?0??, ',
    )
    assert.strictEqual(withDifferences(answer, existing({}), asked({})), answer)
  })
})
