import { assert, describe, it } from "@effect/vitest"
import { CopyId, TemplateId } from "../../src/domain/Ids.ts"
import { changesServed, combineContent, type WholeContent } from "../../src/templates/Content.ts"
import type { VariantContent } from "../../src/templates/ImportPlan.ts"

const variant = (id: string, more: Partial<VariantContent> = {}): VariantContent => ({
  id: CopyId.make(id),
  name: id,
  vars: { subject: `Subject of ${id}`, body: `Body of ${id}` },
  locales: {},
  formats: {},
  active: true,
  targeting: [],
  seasons: [],
  components: {},
  ...more,
})

const content = (more: Partial<WholeContent> = {}): WholeContent => ({
  id: TemplateId.make("welcome"),
  name: "Welcome",
  strict: false,
  locale: null,
  sticky_hours: 0,
  runner_up_floor: 0.1,
  objective: "click",
  send_nothing: false,
  holdout: null,
  ignore_unsubscribes: false,
  tracking: null,
  list_unsubscribe: false,
  link_domains: [],
  conversion_events: [],
  archived: false,
  tags: [],
  owner: null,
  variants: [variant("a"), variant("b"), variant("off", { active: false })],
  ...more,
})

const withVariant = (id: string, more: Partial<VariantContent>, of = content()): WholeContent => ({
  ...of,
  variants: of.variants.map((one) => one.id === id ? { ...one, ...more } : one),
})

describe("the effect of a template change", () => {
  const live = content()
  const affecting: Readonly<Record<string, WholeContent | undefined>> = {
    "a text": withVariant("a", { vars: { subject: "New", body: "Body of a" } }),
    "a translation": withVariant("a", { locales: { de: { subject: "Neu" } } }),
    "the locale": content({ locale: { attribute: "language", default: "en" } }),
    "a format": withVariant("a", { formats: { body: "html" } }),
    "an audience": withVariant("a", { targeting: [{ attribute: "tier", op: "is", values: ["gold"] }] }),
    "a schedule": withVariant("a", { seasons: [{ annual: { from: "11-15", to: "01-06" } }] }),
    "components": withVariant("a", { components: { image: "shoe" } }),
    "a variant that is switched off": withVariant("a", { active: false }),
    "a variant that is switched on": withVariant("off", { active: true }),
    "an active variant that is added": content({ variants: [...live.variants, variant("c")] }),
    "an active variant that is removed": content({ variants: live.variants.slice(1) }),
    "the goal": content({ objective: "conversion" }),
    "the holdout": content({ holdout: { share: 0.1, content: "even" } }),
    "missing fields": content({ strict: true }),
    "archiving": content({ archived: true }),
    "deletion": undefined,
  }
  for (const [what, after] of Object.entries(affecting)) {
    it(`changes live messages for ${what}`, () => assert.isTrue(changesServed(live, after)))
  }

  const harmless: Readonly<Record<string, WholeContent | undefined>> = {
    "a name": content({ name: "Hello" }),
    "the name of a variant": withVariant("a", { name: "Warm" }),
    "a text of an inactive variant": withVariant("off", { vars: { subject: "Draft" } }),
    "an inactive variant that is added": content({ variants: [...live.variants, variant("c", { active: false })] }),
    "an inactive variant that is removed": content({ variants: live.variants.slice(0, 2) }),
    "tags and the owner": content({ tags: ["sale"], owner: "ann@example.com" }),
    "nothing": content(),
  }
  for (const [what, after] of Object.entries(harmless)) {
    it(`does not change live messages for ${what}`, () => assert.isFalse(changesServed(live, after)))
  }

  it("changes live messages for a variant that the holdout receives, active or not", () => {
    const fixed = content({ holdout: { share: 0.1, content: "fixed", copy_id: CopyId.make("off") } })
    assert.isTrue(changesServed(fixed, withVariant("off", { vars: { subject: "Draft" } }, fixed)))
  })

  it("does not change live messages for templates that are not in use before and after", () => {
    const drafts = content({ variants: [variant("a", { active: false })] })
    assert.isFalse(changesServed(undefined, drafts))
    assert.isFalse(changesServed(drafts, { ...drafts, objective: "open" }))
    assert.isFalse(changesServed(drafts, undefined))
    const archived = content({ archived: true })
    assert.isFalse(changesServed(archived, withVariant("a", { vars: {} }, archived)))
    assert.isTrue(changesServed(archived, live))
  })
})

describe("a proposed change to a live template that has changed since", () => {
  const base = content()

  it("keeps the changes of both sides for each variable", () => {
    const mine = withVariant("a", { vars: { subject: "Mine", body: "Body of a" } })
    const theirs = {
      ...withVariant("a", { vars: { subject: "Subject of a", body: "Theirs" }, active: false }),
      objective: "open" as const,
    }
    const { both, content: merged } = combineContent(base, mine, theirs)
    assert.deepStrictEqual(both, [])
    assert.deepInclude(merged?.variants[0], { vars: { subject: "Mine", body: "Theirs" }, active: false })
    assert.strictEqual(merged?.objective, "open")
  })

  it("overrides a concurrent change of the same setting, and lists the setting", () => {
    const mine = { ...withVariant("a", { vars: { subject: "Mine", body: "Body of a" } }), sticky_hours: 1 }
    const theirs = { ...withVariant("a", { vars: { subject: "Theirs", body: "Body of a" } }), sticky_hours: 2 }
    const { both, content: merged } = combineContent(base, mine, theirs)
    assert.sameMembers([...both], ["/sticky_hours", "/variants/a/vars/subject"])
    assert.strictEqual(merged?.sticky_hours, 1)
    assert.strictEqual(merged?.variants[0]?.vars["subject"], "Mine")
  })

  it("adds and removes variants of both sides", () => {
    const mine = content({ variants: [variant("a"), variant("off", { active: false }), variant("mine")] })
    const theirs = content({ variants: [variant("a"), variant("b"), variant("theirs")] })
    const { both, content: merged } = combineContent(base, mine, theirs)
    assert.deepStrictEqual(both, [])
    assert.deepStrictEqual(merged?.variants.map(({ id }) => id as string), ["a", "theirs", "mine"])
  })

  it("lists a variant that one side removed and the other changed", () => {
    const removed = content({ variants: [variant("a"), variant("off", { active: false })] })
    const changed = withVariant("b", { vars: { subject: "Other" } })
    assert.deepStrictEqual(combineContent(base, removed, changed).both, ["/variants/b"])
    assert.deepStrictEqual(combineContent(base, changed, removed).both, ["/variants/b"])
    assert.isTrue(combineContent(base, changed, removed).content?.variants.some(({ id }) => id === "b"))
  })

  it("removes a variable that the proposal removed", () => {
    const mine = withVariant("a", { vars: { subject: "Subject of a" } })
    const { content: merged } = combineContent(base, mine, { ...base, name: "Renamed" })
    assert.deepStrictEqual(merged?.variants[0]?.vars, { subject: "Subject of a" })
    assert.strictEqual(merged?.name, "Renamed")
  })

  it("is used unchanged if either side deleted the template, or if the live template has not changed", () => {
    assert.deepStrictEqual(combineContent(base, undefined, base), { content: undefined, both: [] })
    assert.deepStrictEqual(combineContent(base, undefined, content({ name: "x" })).both, ["/"])
    assert.deepStrictEqual(combineContent(base, content({ name: "x" }), undefined), {
      content: content({ name: "x" }),
      both: ["/"],
    })
    const mine = withVariant("b", { active: false })
    assert.deepStrictEqual(combineContent(base, mine, base), { content: mine, both: [] })
  })
})
