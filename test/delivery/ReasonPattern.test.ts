import { assert, describe, it } from "@effect/vitest"
import { containing, reasonPattern } from "../../src/delivery/ReasonPattern.ts"
import { composition } from "../../src/delivery/BulkPreview.ts"

describe("reasonPattern", () => {
  const cases: ReadonlyArray<readonly [reason: string, pattern: string]> = [
    [
      "The SMTP server answered 550 5.1.1 <ada@example.com>: user unknown",
      "The SMTP server answered 550 5.1.1 <…>: user unknown",
    ],
    [
      "Given up after 5 attempts: 451 4.7.1 Greylisted (4XyZ12ab3c)",
      "Given up after 5 attempts: 451 4.7.1 Greylisted (…)",
    ],
    ["Request 0192f0c1-7a3e-7c11-b0aa-0123456789ab of 2026-11-23 failed", "Request … of … failed"],
    ["ids 123456 789012, 42", "ids …, 42"],
    ["Suppressed: the recipient unsubscribed", "Suppressed: the recipient unsubscribed"],
    ["", ""],
  ]
  for (const [reason, pattern] of cases) {
    it(`turns ${JSON.stringify(reason)} into ${JSON.stringify(pattern)}`, () => {
      assert.strictEqual(reasonPattern(reason), pattern)
    })
  }

  it("returns at most 200 characters without splitting a surrogate pair", () => {
    const pattern = reasonPattern("😀".repeat(500))
    assert.strictEqual([...pattern].length, 200)
    assert.isTrue(pattern.isWellFormed())
  })

  it("escapes the wildcards of SQL for a search", () => {
    assert.strictEqual(containing("50 % of a_b \\ <…> full"), "%50 \\% of a\\_b \\\\ <%> full%")
  })
})

describe("composition", () => {
  it("sums groups by pattern, template and connection, most frequent first", () => {
    const group = { templateId: "t", connection: "main", suppressed: 0 }
    assert.deepStrictEqual(
      composition([
        { ...group, reason: "550 <a@example.com> unknown", count: 2, suppressed: 1 },
        { ...group, reason: "full", count: 4, templateId: "u" },
        { ...group, reason: "550 <b@example.com> unknown", count: 3, connection: null },
        { ...group, reason: null, count: 1 },
      ]),
      {
        sampled: 10,
        suppressed: 1,
        reasons: [
          { value: "550 <…> unknown", count: 5 },
          { value: "full", count: 4 },
          { value: null, count: 1 },
        ],
        templates: [{ value: "t", count: 6 }, { value: "u", count: 4 }],
        connections: [{ value: "main", count: 7 }, { value: null, count: 3 }],
      },
    )
  })

  it("lists ten values of each kind and counts the rest", () => {
    const groups = Array.from({ length: 30 }, (_, i) => ({
      reason: `reason ${String.fromCharCode(65 + i)}`,
      templateId: "t",
      connection: null,
      count: 1,
      suppressed: 0,
    }))
    assert.lengthOf(composition(groups).reasons, 10)
    assert.strictEqual(composition(groups).sampled, 30)
  })
})
