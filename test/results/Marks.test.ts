import { assert, describe, it } from "@effect/vitest"
import type { ServedChange } from "../../src/accounts/ChangeHistory.ts"
import { TemplateId } from "../../src/domain/Ids.ts"
import type { Variant } from "../../src/domain/Template.ts"
import { marksOf } from "../../src/results/Marks.ts"
import { variant } from "./Samples.ts"

const day = 86_400_000
const start = Date.parse("2026-11-01T00:00:00Z")
const times = Array.from({ length: 11 }, (_, i) => start + i * day)

const textsOf = (
  variants: ReadonlyArray<Variant>,
  changes: ReadonlyArray<readonly [days: number, subject: string, field: string, before: unknown, after: unknown]> = [],
) =>
  marksOf(
    { id: TemplateId.make("t"), variants },
    changes.map(([days, subject, field, before, after]): ServedChange => ({
      at: new Date(start + days * day),
      subject,
      field,
      before,
      after,
    })),
    times,
    "UTC",
  ).map(({ at, text }) => `${(at - start) / day} ${text}`)

describe("the marks of changes", () => {
  it("are variants added, deactivated, activated and removed, and holdouts, from the begin of the chart on", () => {
    assert.deepStrictEqual(
      textsOf([variant("a"), variant("b"), variant("c/d")], [
        [12, "t / b", "/active", true, true],
        [6, "acts", "/holdout/share", 0, 0.05],
        [5, "t", "/variants/c~1d/active", null, true],
        [4, "t / gone", "/active", true, null],
        [3, "t / b", "/active", false, true],
        [2, "t / b", "/active", true, false],
        [-1, "t / a", "/active", null, true],
      ]),
      ["2 The b deactivated", "3 The b activated", "4 gone removed", "5 The c/d added", "6 Holdout changed"],
    )
  })

  it("say that a variant was shipped if it alone stayed active, also if the change was undone later", () => {
    const shipped = [[2, "t / b", "/active", true, false], [2, "t / c", "/active", true, false]] as const
    assert.deepStrictEqual(
      textsOf([variant("a"), variant("b", { active: false }), variant("c", { active: false })], shipped),
      ["2 The a shipped"],
    )
    const undone = [[3, "t / b", "/active", false, true], [3, "t / c", "/active", false, true]] as const
    assert.deepStrictEqual(
      textsOf([variant("a"), variant("b"), variant("c")], [...undone, ...shipped]),
      ["2 The a shipped", "3 The b activated", "3 The c activated"],
    )
  })

  it("are the begin and the end of seasons, but not of their days and hours", () => {
    const seasons = [{ starts_at: "2026-11-03", ends_at: "2026-11-07T12:00:00Z", hours: { from: 8, to: 9 } }]
    assert.deepStrictEqual(textsOf([variant("a", { seasons }), variant("b", { seasons: [{ days: ["fri"] }] })]), [
      "2 Season of The a began",
      "7 Season of The a ended",
    ])
  })

  it("are the latest 30", () => {
    const changes = Array.from(
      { length: 40 },
      (_, i) => [5 - i / 100, "t / a", "/active", i % 2 === 0, i % 2 === 1] as const,
    )
    const found = textsOf([variant("a"), variant("b")], changes)
    assert.lengthOf(found, 30)
    assert.strictEqual(found.at(-1), "5 The a deactivated")
  })
})
