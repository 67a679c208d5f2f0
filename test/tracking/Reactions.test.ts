import { assert, describe, it } from "@effect/vitest"
import type { OrgSlug } from "../../src/domain/Ids.ts"
import { eventIdOf, type Reaction } from "../../src/tracking/Reactions.ts"

const reaction = (change: Partial<Reaction> = {}): Reaction => ({
  org: "acme" as OrgSlug,
  id: "0192f0c1-7c1e-7000-8000-000000000001",
  event: "click",
  automated: false,
  link: "https://shop.example/",
  ...change,
})

describe("the id of a reaction's event", () => {
  it("is equal for a double click, and different for a later click, another link and a machine", () => {
    const at = 1_800_000_000_000
    const first = eventIdOf(reaction(), at)
    assert.strictEqual(eventIdOf(reaction(), at + 9_999), first)
    const others = [
      eventIdOf(reaction(), at + 10_000),
      eventIdOf(reaction({ link: "https://shop.example/other" }), at),
      eventIdOf(reaction({ automated: true }), at),
      eventIdOf(reaction({ event: "open" }), at),
      eventIdOf(reaction({ event: "unsubscribe" }), at),
    ]
    assert.strictEqual(new Set([first, ...others]).size, 6)
  })

  it("is one id for all opens of a person, and another for all opens of machines", () => {
    const open = (automated: boolean, at: number) =>
      eventIdOf(reaction({ event: "open", automated, link: undefined }), at)
    assert.strictEqual(open(false, 0), open(false, 86_400_000))
    assert.strictEqual(open(true, 0), open(true, 86_400_000))
    assert.notStrictEqual(open(true, 0), open(false, 0))
  })

  it("distinguishes long addresses within 200 characters", () => {
    const long = (end: string) => eventIdOf(reaction({ link: `https://shop.example/${"x".repeat(500)}${end}` }), 0)
    assert.isAtMost(long("a").length, 200)
    assert.notStrictEqual(long("a"), long("b"))
  })
})
