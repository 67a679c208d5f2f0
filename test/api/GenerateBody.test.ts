import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import {
  attrsOf,
  BatchBody,
  batchBody,
  GenerateBody,
  generateBody,
  quickBatchBody,
  quickGenerateBody,
} from "../../src/api/generate/GenerateWire.ts"
import { DeliverBody, deliverBody, quickDeliverBody } from "../../src/api/deliveries/DeliverWire.ts"
import { decoder } from "../../src/domain/Faults.ts"

const bySchema = decoder(GenerateBody)

/** Values that a member may have, good and bad. */
const ids = [undefined, null, "a", "a".repeat(200), "a".repeat(201), "", "a\0", "\ud800", "ü", 1, true, [], {}]
const objects = [undefined, null, {}, { name: "Ann" }, { deep: { list: [1, null, "x"] } }, [], "x", 1, true]
const attrs = [...objects, { tier: "gold" }, { tier: ["gold", null] }, { tier: {} }, { tier: "x".repeat(1001) }]

const withMembers = (members: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

const bodies: ReadonlyArray<unknown> = [
  undefined,
  null,
  [],
  "text",
  1,
  {},
  ...ids.map((template_id) => withMembers({ template_id })),
  ...ids.flatMap((tracking_id) =>
    ids.map((user_id) => withMembers({ template_id: "t", tracking_id, user_id, fields: { a: 1 } }))
  ),
  ...objects.flatMap((fields) => attrs.map((attrs) => withMembers({ template_id: "t", fields, attrs }))),
  { template_id: "t", other: 1 },
]

describe("the body of Generate", () => {
  it("is decoded without its schema exactly if the schema and the attributes have no fault", () => {
    let quickOnes = 0
    for (const body of bodies) {
      const quick = quickGenerateBody(body)
      const schema = bySchema(body)
      const isRight = Result.isSuccess(schema) && Result.isSuccess(attrsOf(body, ""))
      const at = JSON.stringify(body) ?? "undefined"
      assert.strictEqual(quick !== undefined, isRight, at)
      assert.strictEqual(Result.isSuccess(generateBody(body)), isRight, at)
      if (quick === undefined || !Result.isSuccess(schema)) continue
      quickOnes++
      const { fields, template_id, tracking_id, user_id } = schema.success
      assert.deepStrictEqual(
        { ...quick, attrs: undefined, fields: { ...quick.fields } },
        {
          templateId: template_id,
          trackingId: tracking_id ?? undefined,
          userId: user_id ?? undefined,
          fields: { ...fields },
          attrs: undefined,
        },
        at,
      )
    }
    assert.isAbove(quickOnes, 50)
  })
})

const numbers = [undefined, null, 0, 0.5, 1, 2, 365, 366, -1, "1", true]
const booleans = [undefined, null, true, false, 0, "true"]
const item = { template_id: "t" }

const batches: ReadonlyArray<unknown> = [
  undefined,
  null,
  [],
  "text",
  {},
  ...[undefined, null, {}, [], "x", [null], ["t"], [item, { ...item, template_id: "u" }]].map((requests) =>
    withMembers({ requests })
  ),
  { requests: Array.from({ length: 20 }, (_, at) => ({ template_id: `t${at}` })) },
  { requests: Array.from({ length: 21 }, (_, at) => ({ template_id: `t${at}` })) },
  ...ids.map((template_id) => ({ requests: [withMembers({ template_id })] })),
  ...ids.flatMap((copy_id) =>
    ids.map((tracking_id) => ({ requests: [item, withMembers({ template_id: "u", copy_id, tracking_id })] }))
  ),
  ...ids.map((user_id) => withMembers({ requests: [item], user_id })),
  ...objects.flatMap((fields) => attrs.map((attrs) => withMembers({ requests: [item], fields, attrs }))),
  ...numbers.flatMap((lookback_days) =>
    numbers.map((offset_days) => withMembers({ requests: [item], lookback_days, offset_days }))
  ),
  ...numbers.map((epsilon) => withMembers({ requests: [item], epsilon })),
  ...booleans.flatMap((use_cache) => booleans.map((trace) => withMembers({ requests: [item], use_cache, trace }))),
  { requests: [item], other: 1 },
]

const batchBySchema = decoder(BatchBody)

describe("the body of Batch generate", () => {
  it("is decoded without its schema exactly if the schema and the attributes have no fault", () => {
    let quickOnes = 0
    for (const body of batches) {
      const quick = quickBatchBody(body)
      const schema = batchBySchema(body)
      const isRight = Result.isSuccess(schema) && Result.isSuccess(attrsOf(body, ""))
      const at = JSON.stringify(body) ?? "undefined"
      assert.strictEqual(quick !== undefined, isRight, at)
      assert.strictEqual(Result.isSuccess(batchBody(body)), isRight, at)
      if (quick === undefined || !Result.isSuccess(schema)) continue
      quickOnes++
      const { epsilon, fields, lookback_days, offset_days, requests, trace, use_cache, user_id } = schema.success
      assert.deepStrictEqual(
        { ...quick, attrs: undefined, fields: { ...quick.fields } },
        {
          items: requests.map(({ copy_id, template_id, tracking_id }) => ({
            templateId: template_id,
            copyId: copy_id ?? undefined,
            trackingId: tracking_id ?? undefined,
          })),
          userId: user_id ?? undefined,
          fields: { ...fields },
          attrs: undefined,
          window: { lookbackDays: lookback_days ?? 14, offsetDays: offset_days ?? 3 },
          useCache: use_cache ?? true,
          epsilon: epsilon ?? undefined,
          trace: trace ?? false,
        },
        at,
      )
    }
    assert.isAbove(quickOnes, 50)
  })

  it("leaves a repeated template to the schema, which reports it", () => {
    const body = { requests: [item, { template_id: "u" }, item] }
    assert.isUndefined(quickBatchBody(body))
    const decoded = batchBody(body)
    assert.deepStrictEqual(Result.isFailure(decoded) ? decoded.failure.map(({ pointer }) => pointer) : [], [
      "/requests/2/template_id",
    ])
  })
})

const mail = { template_id: "t", email: "ada@example.com" }
const emails = [
  undefined,
  null,
  "",
  "ada",
  "ada@example.com",
  "a@b",
  "ada@ex ample.com",
  `${"a".repeat(65)}@b.com`,
  1,
  {},
]

const messages: ReadonlyArray<unknown> = [
  undefined,
  [],
  {},
  ...ids.flatMap((template_id) => ids.map((copy_id) => withMembers({ ...mail, template_id, copy_id }))),
  ...emails.map((email) => withMembers({ ...mail, email })),
  ...objects.flatMap((fields) => attrs.map((attrs) => withMembers({ ...mail, fields, attrs }))),
  ...numbers.map((offset_days) => withMembers({ ...mail, offset_days, lookback_days: 3 })),
  ...numbers.map((epsilon) => withMembers({ ...mail, epsilon })),
  ...booleans.flatMap((use_cache) =>
    booleans.map((optimize_send_time) => withMembers({ ...mail, use_cache, optimize_send_time }))
  ),
  { ...mail, send_at: null, expires_at: null, priority: null },
  { ...mail, other: 1 },
]

const deliverBySchema = decoder(DeliverBody)

describe("the body of Deliver", () => {
  it("is decoded without its schema exactly if the schema and the attributes have no fault", () => {
    let quickOnes = 0
    for (const body of messages) {
      const quick = quickDeliverBody(body)
      const schema = deliverBySchema(body)
      const isRight = Result.isSuccess(schema) && Result.isSuccess(attrsOf(body, ""))
      const at = JSON.stringify(body) ?? "undefined"
      assert.strictEqual(quick !== undefined, isRight, at)
      assert.strictEqual(Result.isSuccess(deliverBody(body, 0)), isRight, at)
      if (quick === undefined || !Result.isSuccess(schema)) continue
      quickOnes++
      const {
        copy_id,
        email,
        epsilon,
        fields,
        lookback_days,
        offset_days,
        optimize_send_time,
        template_id,
        use_cache,
      } = schema.success
      assert.deepStrictEqual<object>(
        { ...quick, attrs: undefined, fields: { ...quick.fields } },
        {
          templateId: template_id,
          email,
          copyId: copy_id ?? undefined,
          fields: { ...fields },
          attrs: undefined,
          window: { lookbackDays: lookback_days ?? 14, offsetDays: offset_days ?? 3 },
          useCache: use_cache ?? true,
          epsilon: epsilon ?? undefined,
          sendAt: undefined,
          optimizeSendTime: optimize_send_time ?? false,
          expiresAt: undefined,
          priority: undefined,
        },
        at,
      )
    }
    assert.isAbove(quickOnes, 30)
  })

  it("leaves times and the priority to the schema", () => {
    for (const member of [{ send_at: "2026-11-24T10:00:00Z" }, { expires_at: "x" }, { priority: "bulk" }]) {
      assert.isUndefined(quickDeliverBody({ ...mail, ...member }))
    }
    const decoded = deliverBody(
      { ...mail, priority: "bulk", send_at: "2026-11-24T10:00:00Z" },
      Date.parse("2026-11-24T00:00:00Z"),
    )
    assert.strictEqual(Result.isSuccess(decoded) && decoded.success.priority, "bulk")
  })
})
