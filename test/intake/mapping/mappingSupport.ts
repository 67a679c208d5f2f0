import { assert } from "@effect/vitest"
import { Result } from "effect"
import type { NormalizedEvent } from "../../../src/domain/Event.ts"
import { compile, decode, Mapping } from "../../../src/intake/mapping/Mapping.ts"

// Mappings and bodies that tests of mappings share.

export const receivedAt = Date.parse("2026-05-11T09:00:00Z")
export const bytes = (text: string) => new TextEncoder().encode(text)
export const json = (value: unknown) => bytes(JSON.stringify(value))

export const mapping = (input: unknown): Mapping => {
  const result = decode(input)
  return Result.isSuccess(result) ? result.success : assert.fail(JSON.stringify(result.failure))
}

export const faultsOf = (input: unknown) => {
  const result = decode(input)
  return Result.isFailure(result) ? result.failure : assert.fail("the mapping has no fault")
}

export const understood = (input: unknown, body: unknown, headers: Record<string, string> = {}) => {
  const result = compile(mapping(input))(json(body), headers, receivedAt)
  return "reason" in result ? assert.fail(result.reason) : result
}

export const one = (input: unknown, body: unknown, headers: Record<string, string> = {}): NormalizedEvent => {
  const { events, items, skipped } = understood(input, body, headers)
  assert.deepStrictEqual([items, events.length, skipped], [1, 1, []])
  return events[0]!
}

/** The least a mapping needs. */
export const least = { event: "$.kind", tracking_id: "$.tid" }

export const rich = {
  version: 1,
  items: "$.data.items[*]",
  where: [{ from: "$.channel", op: "in", values: ["email", "push"] }],
  event: { from: ["$.kind", "$.type"], table: { MailRead: "open", Basket: "conversion", Ping: "ignore" } },
  tracking_id: {
    from: ["$.meta.tid", { path: "$.payload", json: "$.ids[0]" }, { path: "$.target", query: "tid" }],
    required: true,
  },
  template_id: { from: [{ literal: "welcome" }] },
  user: { from: ["$.person.id", "$.person.email", "$body.account"] },
  event_id: "$.uid",
  message_id: "$.mid",
  occurred_at: { from: ["$.at"], unit: "seconds" },
  automated: { from: ["$.agent"], equals: ["bot", "Proxy"] },
  link: "$.target",
  time_zone: "$.person.zone",
}
