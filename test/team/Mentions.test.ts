import { assert, describe, it } from "@effect/vitest"
import type { NamedMember } from "../../src/accounts/MemberNames.ts"
import { handlesById, partsOf, readMentions, storeMentions } from "../../src/team/Mentions.ts"

const member = (id: string, name: string, isMember = true): NamedMember => ({
  id,
  name,
  email: `${id}@example.com`,
  isMember,
})
const known = (...members: ReadonlyArray<NamedMember>) => new Map(members.map((one) => [one.id, one]))

const ann = member("ann", "Ann")
const smith = member("smith", "Ann Smith")
const noa = member("noa", "נועה כהן")
const turkish = member("istanbul", "İpek")
const team = known(ann, smith, noa, turkish)

const mentionsIn = (text: string, members = team) => storeMentions(text, members.values()).mentions

describe("mentions", () => {
  it("match a whole name or e-mail address after an @, preferring the longest and ignoring case", () => {
    assert.deepStrictEqual(mentionsIn("@Ann Smith, look"), ["smith"])
    assert.deepStrictEqual(mentionsIn("(@ann) @SMITH@example.com."), ["ann", "smith"])
    assert.deepStrictEqual(mentionsIn("שלום @נועה כהן!"), ["noa"])
    assert.deepStrictEqual(mentionsIn("@Ann @Ann @ann@example.com"), ["ann"])
    assert.deepStrictEqual(mentionsIn("İİİ @İpek und @ann"), ["istanbul", "ann"])
  })

  it("do not match parts of words, other addresses or incomplete names", () => {
    for (const text of ["mail@ann", "@Annabel", "@Anna", "@ ann", "@", "ann@example.com", "@nobody"]) {
      assert.deepStrictEqual(mentionsIn(text), [], text)
    }
  })

  it("are stored as ids and read with the current name", () => {
    const stored = storeMentions("Hello @Ann Smith\nand @ann", team.values())
    assert.strictEqual(stored.text, "Hello <@smith>\nand <@ann>")
    assert.strictEqual(readMentions(stored, team), "Hello @Ann Smith\nand @Ann")
    const renamed = known(ann, member("smith", "Ann Jones"))
    assert.strictEqual(readMentions(stored, renamed), "Hello @Ann Jones\nand @Ann")
    assert.strictEqual(readMentions(stored, known(ann)), "Hello @former member\nand @Ann")
    assert.deepStrictEqual(partsOf(stored, team), [
      { text: "Hello " },
      { text: "@Ann Smith", mentioned: "smith" },
      { text: "\nand " },
      { text: "@Ann", mentioned: "ann" },
    ])
  })

  it("round-trip when a comment is edited", () => {
    const stored = storeMentions("@Ann Smith @ann@example.com", team.values())
    assert.deepStrictEqual(storeMentions(readMentions(stored, team), team.values()), stored)
  })

  it("require an e-mail address if several members share a name", () => {
    const two = known(member("a", "Kim"), member("b", "kim"))
    assert.deepStrictEqual(mentionsIn("@Kim", two), [])
    assert.strictEqual(handlesById([...two.values(), ann]).get("b"), "b@example.com")
    assert.strictEqual(handlesById([...two.values(), ann]).get("ann"), "Ann")
    assert.deepStrictEqual(mentionsIn("@b@example.com", two), ["b"])
    assert.strictEqual(readMentions(storeMentions("@b@example.com", two.values()), two), "@b@example.com")
  })

  it("match members only, and no typed token", () => {
    assert.deepStrictEqual(mentionsIn("@Root", known(ann, member("root", "Root", false))), [])
    const typed = storeMentions("see <@smith> and <@x>", team.values())
    assert.deepStrictEqual(typed, { text: "see <@smith> and <@x>", mentions: [] })
    assert.strictEqual(readMentions(typed, team), "see <@smith> and <@x>")
  })
})
