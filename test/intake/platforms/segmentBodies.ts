import { assert } from "@effect/vitest"
import type { Normalized, NormalizedEvent, ProfileUpdate } from "../../../src/domain/Event.ts"
import { normalize } from "../../../src/intake/platforms/Segment.ts"
import type { Normalize } from "../../../src/intake/Normalize.ts"

// Bodies as Segment and mParticle send them, and the events that are read from them.

export const receivedAt = Date.parse("2026-03-10T12:00:00Z")
export const iso = "2026-03-10T10:20:30.417Z"
export const at = Date.parse(iso)
export const bytes = (text: string) => new TextEncoder().encode(text)

export const read = (body: unknown, by: Normalize = normalize): Normalized => {
  const result = by(bytes(JSON.stringify(body)), {}, receivedAt)
  if ("reason" in result) assert.fail(result.reason)
  return result
}

export const one = (body: unknown, by: Normalize = normalize): NormalizedEvent => {
  const { events, items, skipped } = read(body, by)
  assert.deepStrictEqual([items, events.length, skipped], [1, 1, []])
  return events[0]!
}

export const profileOf = (body: unknown): ProfileUpdate => {
  const { events, items, profiles, skipped } = read(body)
  assert.deepStrictEqual([items, events, skipped, profiles?.length], [1, [], [], 1])
  return profiles![0]!
}

export const track = (event: string, properties: object = {}, more: object = {}) => ({
  type: "track",
  channel: "server",
  event,
  userId: "u-2001",
  anonymousId: "3f0c-11",
  messageId: "seg-9a71",
  timestamp: iso,
  originalTimestamp: "2026-03-10T10:20:29.000Z",
  sentAt: "2026-03-10T10:20:31.000Z",
  receivedAt: "2026-03-10T10:20:32.000Z",
  version: 2,
  context: {
    library: { name: "analytics-node", version: "2.1" },
    traits: { email: "mia@shop.test" },
    ip: "203.0.113.4",
  },
  integrations: {},
  properties,
  ...more,
})

export const expected = (event: NormalizedEvent["event"], more: Partial<NormalizedEvent> = {}): NormalizedEvent => ({
  event,
  trackingId: undefined,
  templateId: undefined,
  user: "u-2001",
  key: "id:seg-9a71",
  occurredAt: at,
  automated: false,
  messageKey: undefined,
  link: undefined,
  ...more,
})

export const linkUrl = "https://shop.test/sale?utm_campaign=march&tracking_id=trk-9"
