import { assert } from "@effect/vitest"
import type { Normalized } from "../../src/domain/Event.ts"
import { type CustomEventsOptions, normalize } from "../../src/intake/CustomEvents.ts"

export const receivedAt = Date.parse("2026-02-03T13:00:00Z")

export const read = (body: unknown, options: Partial<CustomEventsOptions> = {}): Normalized =>
  normalize(body, { receivedAt, webhookId: undefined, ...options })

/** The only event of a body with one item. */
export const one = (body: unknown, options: Partial<CustomEventsOptions> = {}) => {
  const { events, items, skipped } = read(body, options)
  assert.deepStrictEqual([items, events.length, skipped], [1, 1, []])
  return events[0]!
}

export const click = { event: "click", tracking_id: "trk_1" }

export const occurredAt = (time: unknown) => one({ ...click, timestamp: time }).occurredAt

/** Checks that `read` finds a value under each of the keys, and under the earlier of any two neighbours. */
export const assertOrder = (keys: string, read: (members: object) => unknown, first: unknown, second: unknown) =>
  keys.split(" ").forEach((key, i, all) => {
    assert.strictEqual(read({ [key]: second }), second, key)
    if (i > 0) assert.strictEqual(read({ [key]: second, [all[i - 1]!]: first }), first, key)
  })
