import { assert, describe, it } from "@effect/vitest"
import { authorizationFault } from "../../src/auth/AuthorizationHeader.ts"
import { make } from "../../src/auth/KeyText.ts"

describe("the header Authorization", () => {
  const { key } = make()

  it("is rejected without the word Bearer or with another one, with the expected form", () => {
    const test = make("test").key
    const basic = (text: string) => `Basic ${btoa(text)}`
    for (
      const [header, words] of [
        [key, "without the word Bearer"],
        [test, "without the word Bearer"],
        [`"${key}"`, "without the word Bearer"],
        [`Token ${key}`, 'the scheme "Token" with an API key'],
        [`ApiKey ${key}`, 'the scheme "ApiKey" with an API key'],
        [`Token: ${key}`, 'the scheme "Token" with an API key'],
        [basic(`${key}:`), 'the scheme "Basic" with an API key'],
        [basic(`parlance:${key}`), 'the scheme "Basic" with an API key'],
        [basic("ann:secret"), 'the scheme "Basic":'],
        ["Basic ###", 'the scheme "Basic":'],
        ["Bearer", "after the word Bearer"],
        [`Bearer${key}`, "after the word Bearer"],
        [`Bearer:${key}`, "after the word Bearer"],
        ["\u00e4", "no Bearer token"],
      ] as const
    ) {
      const fault = authorizationFault(header) ?? ""
      assert.include(fault, words, header)
      assert.include(fault, "X-Api-Key", header)
      assert.notInclude(fault, key.slice(0, 12), "no part of the key")
    }
  })

  it("is accepted with a Bearer token and if absent", () => {
    for (const header of [undefined, "", " ", `Bearer ${key}`, `bearer  ${key}`, "BEARER x"]) {
      assert.isUndefined(authorizationFault(header), header)
    }
  })
})
