import { assert, describe, it } from "@effect/vitest"
import { Redacted, Result } from "effect"
import { noRules } from "../../src/domain/Suggestion.ts"
import type { Template, Variant } from "../../src/domain/Template.ts"
import type { TemplateResults, VariantResults } from "../../src/results/TemplateResults.ts"
import { chatRequest, chatUrl, readAnswer } from "../../src/suggestions/ChatEndpoint.ts"
import { askedVariables, type Material, promptOf } from "../../src/suggestions/Prompt.ts"

const variant = (name: string, vars: Record<string, string>, formats: Variant["formats"] = {}) =>
  ({ id: name, name, vars, formats, locales: {}, active: true, components: {}, targeting: [], seasons: [] }) as never

const rate = (copy_id: string, value: number) =>
  ({ copy_id, name: copy_id.toUpperCase(), decisions: 500, rate: value }) as VariantResults

const segment = (name: string, value: string, decisions = 500) => ({
  segment: { [name]: value },
  decisions,
  variants: [rate("a", 0.123456)],
})

const material = (segments: TemplateResults["segments"]): Material => ({
  template: {
    name: "Welcome",
    objective: "click",
    variants: [variant("A", { subject: "Hi", body: "x".repeat(70_000) }), variant("B", { subject: "Hello" })],
  } as unknown as Template,
  variables: [{ name: "subject", format: "text", max_length: 60 }],
  rules: { ...noRules, tone: "warm" },
  results: {
    variants: [rate("a", 0.123456)],
    components: [{ kind: "subject", value: "question", decisions: 300, lift: 0.0815, interval: [0, 1] }],
    segments,
  } as unknown as TemplateResults,
  instructions: "Be short",
})

describe("the prompt of suggestions", () => {
  it("has texts, rules and aggregated results, and nothing else", () => {
    const [, { content }] = promptOf(material([segment("plan", "pro")]), 2) as never as [unknown, { content: string }]
    assert.deepStrictEqual(JSON.parse(content), {
      count: 2,
      instructions: "Be short",
      tone: "warm",
      forbidden_words: [],
      required_phrases: [],
      template: { name: "Welcome", objective: "click" },
      variables: [{ name: "subject", format: "text", max_length: 60 }],
      existing: [
        { name: "A", active: true, components: {}, vars: { subject: "Hi" } },
        { name: "B", active: true, components: {}, vars: { subject: "Hello" } },
      ],
      results: {
        variants: [{ name: "A", decisions: 500, rate: 0.123 }],
        components: [{ kind: "subject", value: "question", decisions: 300, lift: 0.0815 }],
        segments: [{ segment: { plan: "pro" }, decisions: 500, rates: { A: 0.123 } }],
      },
    })
  })

  it("leaves out segments of few people, and values that may name a person", () => {
    const [, { content }] = promptOf(
      material([
        segment("email", "ann@example.com"),
        segment("phone", "+49 30 1234567"),
        segment("customer", "00481516"),
        segment("note", "Ann Arbor, who moved here from Detroit last year"),
        segment("city", "Ann Arbor", 99),
        segment("country", "de"),
      ]),
      1,
    ) as never as [unknown, { content: string }]
    assert.deepStrictEqual(JSON.parse(content).results.segments.map((one: { segment: object }) => one.segment), [
      { country: "de" },
    ])
  })

  it("asks for short variables without MJML, or for the named ones", () => {
    const base: Variant = variant("A", { subject: "Hi", body: "x".repeat(5_000), mail: "<mjml>" }, {
      body: "html",
      mail: "mjml",
    })
    const rules = { max_lengths: { subject: 40 } }
    assert.deepStrictEqual(askedVariables(base, {}, rules), {
      asked: [{ name: "subject", format: "text", max_length: 40 }],
      impossible: [],
    })
    assert.deepStrictEqual(askedVariables(base, { variables: ["body", "mail", "toString"] }, rules), {
      asked: [{ name: "body", format: "html" }],
      impossible: ["mail", "toString"],
    })
  })
})

describe("a chat completions endpoint", () => {
  it("may be given with or without its path", () => {
    const urls = {
      "https://api.openai.com/v1": "https://api.openai.com/v1/chat/completions",
      "https://api.mistral.ai/v1/": "https://api.mistral.ai/v1/chat/completions",
      "http://127.0.0.1:11434/v1/chat/completions": "http://127.0.0.1:11434/v1/chat/completions",
      "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21":
        "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
      "https://x.openai.azure.com/openai/v1": "https://x.openai.azure.com/openai/v1/chat/completions",
    }
    for (const [text, expected] of Object.entries(urls)) assert.strictEqual(chatUrl(text).href, expected)
  })

  it("gets its key in the header that it reads", () => {
    const headersOf = (url: string, key?: string) =>
      Object.keys(chatRequest({ url: chatUrl(url), model: "m", key: key && Redacted.make(key) } as never, []).headers)
    assert.deepStrictEqual(headersOf("https://api.openai.com/v1", "k"), ["content-type", "authorization"])
    assert.deepStrictEqual(headersOf("https://x.openai.azure.com/openai/v1", "k"), ["content-type", "api-key"])
    assert.deepStrictEqual(headersOf("http://127.0.0.1:1234/v1"), ["content-type"])
  })

  it("may not answer with its key, which everybody who reads the drafts would see", () => {
    const body = JSON.stringify({ choices: [{ message: { content: '{"drafts":[{"name":"Bearer sk-1234"}]}' } }] })
    const answer = readAnswer({ status: 200, headers: {}, body, bytes: new Uint8Array() }, "host", ["sk-1234"])
    assert.include(Result.isFailure(answer) ? answer.failure.detail : "", "The answer of host contains the key")
    assert.notInclude(JSON.stringify(answer), "sk-1234")
  })

  it("may report no tokens, or tokens that are none", () => {
    const tokensOf = (usage: unknown) => {
      const choices = [{ message: { content: "{}" }, finish_reason: "stop" }]
      const answer = readAnswer(
        { status: 200, headers: {}, body: JSON.stringify({ choices, usage }), bytes: new Uint8Array() },
        "host",
        [],
      )
      return Result.isSuccess(answer) ? answer.success.tokens : answer
    }
    assert.deepStrictEqual(tokensOf({ prompt_tokens: 3, completion_tokens: 4 }), { input: 3, output: 4 })
    for (const usage of [undefined, null, "many", { prompt_tokens: -1, completion_tokens: 1e30 }]) {
      assert.isUndefined(tokensOf(usage))
    }
  })
})
