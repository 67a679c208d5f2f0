import { assert } from "@effect/vitest"
import * as fc from "fast-check"
import type { Normalized } from "../../../src/domain/Event.ts"

/** JSON of any shape, with the names and texts of a platform in right and in wrong places. */
export const jsonOf = (names: ReadonlyArray<string>, texts: ReadonlyArray<string>): fc.Arbitrary<unknown> => {
  const name = fc.constantFrom(...names)
  const text = fc.constantFrom(...texts)
  const { json } = fc.letrec<{ json: unknown }>((tie) => ({
    json: fc.oneof(
      { depthSize: "medium" },
      text,
      fc.oneof(fc.double(), fc.boolean(), fc.constant(null), fc.string({ unit: "binary" })),
      fc.array(tie("json"), { maxLength: 5 }),
      fc.array(fc.tuple(name, tie("json")), { maxLength: 8 }).map((entries) => Object.fromEntries(entries)),
    ),
  }))
  return fc.oneof(json, fc.jsonValue())
}

/** Asserts that every item of `bodies` is counted, and that the resulting events can be attributed and stored. */
export const assertAccounted = (
  bodies: fc.Arbitrary<unknown>,
  read: (body: unknown) => Normalized,
  receivedAt: number,
): void =>
  fc.assert(
    fc.property(bodies, (body) => {
      const { erasures = [], events, items, profiles = [], skipped } = read(body ?? null)
      assert.strictEqual(items, events.length + skipped.length + profiles.length + erasures.length)
      for (const { messageKey, trackingId, user } of events) {
        assert.isTrue((trackingId ?? user ?? messageKey) !== undefined)
        assert.isAtMost(messageKey?.length ?? 0, 400)
      }
      for (const { occurredAt } of [...events, ...profiles]) {
        assert.isTrue(occurredAt >= 0 && occurredAt <= receivedAt)
      }
      for (const { key } of [...events, ...profiles, ...erasures]) assert.isAtMost(key.length, 210)
      for (const { email, user } of erasures) assert.isTrue((email ?? user) !== undefined)
    }),
    { numRuns: 1_500 },
  )
