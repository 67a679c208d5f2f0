import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { makeBodySearch, overlapBytes, partBytes } from "../../src/erasure/BodySearch.ts"
import { Names } from "../../src/erasure/Names.ts"

const whole = { isFirst: true, isLast: true }

/** Whether a person is found in a body. */
const finds = (body: string, person: { readonly user?: string; readonly email?: string }): boolean =>
  makeBodySearch(new Names([{ user: person.user, email: person.email }])).isIn(new TextEncoder().encode(body), whole)

const escaped = (text: string) =>
  Array.from(text, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, "0")}`).join("")
const percent = (text: string) =>
  Array.from(new TextEncoder().encode(text), (byte) => `%${byte.toString(16).padStart(2, "0")}`).join("")

const email = "ann.o'neil+news@example.com"

describe("the search of bodies", () => {
  const wrapped: ReadonlyArray<readonly [string, string]> = [
    ["a JSON string", JSON.stringify({ email })],
    ["capitals", JSON.stringify({ email: email.toUpperCase() })],
    ["a name with the address in angle brackets", JSON.stringify({ to: `Ann O'Neil <${email}>` })],
    ["a list of recipients", JSON.stringify({ to: `bob@example.com,${email};eve@example.com` })],
    ["an escaped @", `{"email":"${email.replace("@", "\\u0040")}"}`],
    ["an escaped @ in capitals", `{"email":"${email.toUpperCase().replace("@", "\\u0040")}"}`],
    ["escapes throughout", `{"email":"${escaped(email)}"}`],
    ["a path with escaped slashes", `{"url":"https:\\/\\/x.example\\/u\\/${email}\\/open"}`],
    ["JSON in a JSON string", JSON.stringify({ payload: JSON.stringify({ email }) })],
    ["escaped JSON in a JSON string", JSON.stringify({ payload: `{"email":"${escaped(email)}"}` })],
    ["a line after an escaped line break", JSON.stringify({ note: `Dear\n${email}\tbye` })],
    ["a percent-encoded parameter", `{"url":"https://x.example/?to=${encodeURIComponent(email)}&n=1"}`],
    ["a percent-encoded parameter, twice", `u=${encodeURIComponent(`https://x/?to=${encodeURIComponent(email)}`)}`],
    ["three times", encodeURIComponent(encodeURIComponent(encodeURIComponent(`to=${email}`)))],
    ["percent-encoding throughout", percent(email)],
    ["a form", `event=open&email=${encodeURIComponent(email)}&x=1`],
    ["JSON in a form", `payload=${encodeURIComponent(`{"email":"${email.replace("@", "\\u0040")}"}`)}`],
    ["mailto", `<a href="mailto:${email}?subject=x">`],
    ["the end of a sentence", `Write to ${email}.`],
  ]
  for (const [where, body] of wrapped) {
    it(`finds an address in ${where}`, () => {
      assert.isTrue(finds(body, { email }), body)
      assert.isTrue(finds(body, { email: email.toUpperCase() }), body)
      assert.isFalse(finds(body, { email: "someone@example.com" }), body)
    })
  }

  it("does not match other addresses", () => {
    for (
      const other of [
        "joann@example.com",
        "jo.ann@example.com",
        "ann@example.com.au",
        "ann@example.co",
        "ann@mail.example.com",
      ]
    ) assert.isFalse(finds(JSON.stringify({ other }), { email: "ann@example.com" }), other)
  })

  it("finds an id as a JSON string, a JSON number or a parameter, but not within a text", () => {
    assert.isTrue(finds('{"user_id":"user-17"}', { user: "user-17" }))
    assert.isTrue(finds('{"user_id":"us\\u0065r-17"}', { user: "user-17" }))
    assert.isTrue(finds(JSON.stringify({ x: JSON.stringify({ id: "user-17" }) }), { user: "user-17" }))
    assert.isTrue(finds("user_id=user-17&x=1", { user: "user-17" }))
    assert.isTrue(finds('{"url":"https://x.example/?u=user-17"}', { user: "user-17" }))
    assert.isTrue(finds('{"user_id": 17}', { user: "17" }))
    assert.isTrue(finds('{"user_id":"17"}', { user: "17" }))
    assert.isTrue(finds('{"a":"say \\"hi\\""}', { user: 'say "hi"' }))
    assert.isFalse(finds('{"user_id":"User-17","n":"user-171"}', { user: "user-17" }))
    assert.isFalse(finds('{"url":"https://x.example/?page=17","n":170,"t":"17th"}', { user: "17" }))
  })

  it("finds an address anywhere in a body that is searched in parts", () => {
    const filler = JSON.stringify({ email: "somebody.else@example.com" })
    const size = 3 * partBytes
    const search = makeBodySearch(new Names([{ user: undefined, email: "ann@example.com" }]))
    const found = (body: Uint8Array) => {
      for (let from = 0; from < body.length; from += partBytes - overlapBytes) {
        const part = body.subarray(from, from + partBytes)
        if (search.isIn(part, { isFirst: from === 0, isLast: from + partBytes >= body.length })) return true
      }
      return false
    }
    const bytes = new TextEncoder().encode(filler.repeat(Math.ceil(size / filler.length)))
    assert.isFalse(found(bytes))
    const needle = new TextEncoder().encode(`"${escaped("ANN@example.com")}"`)
    fc.assert(
      fc.property(fc.nat(size - needle.length), (at) => {
        const body = bytes.slice()
        body.set(needle, at)
        assert.isTrue(found(body), String(at))
      }),
      { numRuns: 60 },
    )
    // Cut short by the end of a part, `joann@example.community` would read like the address.
    const other = new TextEncoder().encode('"joann@example.community"')
    for (let at = partBytes - 40; at < partBytes + 10; at++) {
      const body = bytes.slice()
      body.set(other, at)
      assert.isFalse(found(body), String(at))
    }
  })

  it("takes linear time for hostile texts", () => {
    // With a pattern that looks through a run again and again, each of these takes minutes.
    const slow = ["\\", "\\\\u", "%25", "%", "@", "@.", "a@", '"', "=", "\\u0040", "=".repeat(300) + "@example.com"]
    const person = { email: "ann@example.com", user: "user-17" }
    for (const unit of slow) assert.isFalse(finds(unit.repeat(partBytes / unit.length), person), unit)
    assert.isFalse(finds(`@${".".repeat(300)}a`.repeat(200), person))
  })

  it("finds an address in any case and encoding", () => {
    const local = fc.stringMatching(/^[a-z0-9][a-z0-9_+-]{0,20}$/)
    const domain = fc.stringMatching(/^[a-z0-9]{1,12}\.[a-z]{2,6}$/)
    const encodings = [(text: string) => text, escaped, percent, (text: string) => encodeURIComponent(percent(text))]
    fc.assert(
      fc.property(local, domain, fc.array(fc.nat(7), { minLength: 40, maxLength: 40 }), (local, domain, choice) => {
        const address = `${local}@${domain}`
        const body = Array.from(address, (letter, i) => {
          const chosen = choice[i % choice.length]!
          return encodings[chosen >> 1]!(chosen % 2 === 0 ? letter : letter.toUpperCase())
        }).join("")
        assert.isTrue(finds(`{"x":"${body}"}`, { email: address }), body)
      }),
    )
  })
})
