import { assert, it } from "@effect/vitest"
import type { Normalized, NormalizedEvent } from "../../../src/domain/Event.ts"
import type { SourceId } from "../../../src/domain/Source.ts"
import { normalizer } from "../../../src/intake/Sources.ts"
import { assertAccounted, jsonOf } from "../platforms/hostile.ts"

/** Time of receipt of all bodies. */
export const receivedAt = Date.parse("2026-02-03T13:00:00Z")

export const bytesOf = (body: unknown): Uint8Array =>
  new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body))

/** Reads a body as the source does, and fails if the body is not understood. */
export const read = (source: SourceId, body: unknown, headers: Readonly<Record<string, string>> = {}): Normalized => {
  const found = normalizer(source)(bytesOf(body), headers, receivedAt)
  if ("reason" in found) return assert.fail(found.reason)
  return found
}

/** A body, and the members that its only event has. `ignored`: the body has no event. */
export type Case = readonly [name: string, body: unknown, expected: Expected | "ignored"]

/** Members of an event. Undefined: the event does not have the member. */
type Expected = { readonly [member in keyof NormalizedEvent]?: NormalizedEvent[member] | undefined }

/** Tests that each body is read as expected. */
export const testCases = (source: SourceId, cases: ReadonlyArray<Case>): void => {
  for (const [name, body, expected] of cases) {
    it(`reads ${name}`, () => {
      const { events, skipped } = read(source, body)
      if (expected === "ignored") {
        assert.deepStrictEqual([events, skipped.map((one) => one.expected)], [[], [true]])
        return
      }
      assert.deepStrictEqual([events.length, skipped], [1, []])
      for (const [member, value] of Object.entries(expected)) {
        assert.deepStrictEqual((events[0] as unknown as Record<string, unknown>)[member], value, member)
      }
    })
  }
}

/** Tests that every item of hostile bodies is counted, and that no event is lost next to bad items. */
export const testHostile = (
  source: SourceId,
  { bodyOf, names, texts }: {
    readonly names: ReadonlyArray<string>
    readonly texts: ReadonlyArray<string>
    readonly bodyOf: (item: unknown) => unknown
  },
): void =>
  it("accounts for every item of hostile bodies", () => {
    assertAccounted(
      jsonOf(names, texts).map(bodyOf),
      (body) => {
        const found = normalizer(source)(bytesOf(JSON.stringify(body)), {}, receivedAt)
        return "reason" in found ? { items: 0, events: [], skipped: [] } : found
      },
      receivedAt,
    )
  })
