import { assert, describe, it } from "@effect/vitest"
import { createConfig, lintFromString } from "@redocly/openapi-core"
import { Validator } from "@seriousme/openapi-schema-validator"
import { normalize } from "../../src/intake/CustomEvents.ts"
import { describeApi } from "../../src/api/operations/OperationsRoutes.ts"

const document = describeApi()
const operations = Object.values(document.paths).flatMap(({ delete: deleted, get, patch, post, put }) =>
  [get, post, put, patch, deleted].flatMap((operation) => operation ?? [])
)
const schemas = document.components.schemas as Readonly<Record<string, Record<string, unknown>>>

/** A schema, with a reference followed. */
const resolved = (schema: object): Readonly<Record<string, unknown>> =>
  "$ref" in schema ? schemas[String(schema.$ref).replace("#/components/schemas/", "")]! : { ...schema }

describe("The document of the API", () => {
  it("is valid for two validators, without a warning", async () => {
    const config = await createConfig({ extends: ["recommended"] })
    const problems = await lintFromString({ source: JSON.stringify(document), config })
    assert.deepStrictEqual(
      problems.map(({ location, message, ruleId }) => [ruleId, message, location[0]?.pointer]),
      [],
    )
    const validation = await new Validator().validate(structuredClone(document) as unknown as Record<string, unknown>)
    assert.isTrue(validation.valid, JSON.stringify(validation))
  })

  it("names operations and the schemas of all JSON bodies", () => {
    const ids = operations.map(({ operationId }) => operationId)
    assert.strictEqual(new Set(ids).size, ids.length)
    for (const id of ids) assert.match(id, /^[a-z][A-Za-z]+$/)
    for (const { operationId, requestBody, responses } of operations) {
      for (const { content } of [requestBody, ...Object.values(responses)].flatMap((part) => part ?? [])) {
        const schema = content?.["application/json"]?.schema
        if (schema !== undefined) assert.property(schema, "$ref", operationId)
      }
    }
    for (
      const name of ["Template", "Variant", "ApiKey", "Connection", "Delivery", "WebhookSource", "GenerateResponse"]
    ) {
      assert.property(schemas, name)
    }
    assert.isEmpty(Object.keys(schemas).filter((name) => name.endsWith("Encoded")))
  })

  it("describes every parameter of a query", () => {
    const parameters = operations.flatMap(({ operationId, parameters }) =>
      parameters.filter((parameter) => parameter.in === "query").map((parameter) => ({ operationId, parameter }))
    )
    assert.isAbove(parameters.length, 40)
    const bare = parameters.filter(({ parameter: { description, schema } }) =>
      description === undefined && !("description" in schema)
    )
    assert.deepStrictEqual(bare.map(({ operationId, parameter }) => `${operationId}: ${parameter.name}`), [])
  })

  it("shows an example of every operation, including its body", () => {
    for (const { operationId, parameters, requestBody, responses } of operations) {
      const { 200: ok, 201: made } = responses
      for (const content of [requestBody?.content, (made ?? ok)?.content]) {
        const json = content?.["application/json"]
        if (json !== undefined && operationId !== "openapi") assert.property(json, "examples", operationId)
      }
      for (const parameter of parameters) {
        if (parameter.in === "path") assert.property(parameter, "examples", `${operationId}: ${parameter.name}`)
      }
    }
  })

  it("allows additional members in requests and answers", () => {
    const text = JSON.stringify(document)
    assert.notInclude(text, '"additionalProperties":false')
    // The schema still states the type of a record's values.
    assert.include(text, '"additionalProperties":{"type":"string"}')
  })

  it("names the headers of answers", () => {
    const names = (path: string, method: "get" | "post", status: number) =>
      Object.keys(document.paths[path]?.[method]?.responses[status]?.headers ?? {}).sort()
    const limits = ["RateLimit", "RateLimit-Policy"]
    for (const path of ["/api/generate/{org}", "/api/batch-generate/{org}"]) {
      assert.deepStrictEqual(names(path, "post", 200), ["Decision-Durable", ...limits, "X-Request-Id"])
    }
    // A message is queued in the store or not at all.
    assert.deepStrictEqual(names("/api/deliver/{org}", "post", 200), [
      "Idempotent-Replayed",
      "Parlance-Delivery-Id",
      "Parlance-Tracking-Id",
      ...limits,
      "X-Request-Id",
    ])
    assert.deepStrictEqual(names("/api/delay/{org}", "get", 429), [...limits, "Retry-After", "X-Request-Id"])
    assert.deepStrictEqual(names("/api/delay/{org}", "get", 503), [...limits, "Retry-After", "X-Request-Id"])
    assert.deepStrictEqual(names("/api/generate/{org}", "get", 401), ["WWW-Authenticate", "X-Request-Id"])
    assert.deepStrictEqual(names("/console/api/organizations", "get", 200), [...limits, "X-Request-Id"])
    assert.deepStrictEqual(names("/console/api/organizations", "post", 201), ["X-Request-Id"], "no API key opens it")
  })

  it("shows custom events that are understood, and how a decision came about", () => {
    const schemaOf = (path: string) => {
      const operation = document.paths[path]!.post!
      return {
        asked: resolved(operation.requestBody!.content["application/json"]!.schema),
        answer: resolved(operation.responses[200]!.content!["application/json"]!.schema),
      }
    }
    const { asked } = schemaOf("/api/webhook/events/{org}")
    assert.include(asked.description, "One event")
    const read = (asked.examples as ReadonlyArray<unknown>).map((body) =>
      normalize(body, { receivedAt: Date.UTC(2026, 1, 4), webhookId: undefined })
    )
    assert.deepStrictEqual(
      read.map(({ events }) => events.map(({ event }) => event)),
      [["click"], ["open", "conversion"]],
    )
    for (const { skipped } of read) assert.isEmpty(skipped)
    assert.include(JSON.stringify(schemaOf("/api/batch-generate/{org}").answer), "BatchGenerateResult")
    const text = JSON.stringify(schemas["BatchGenerateResult"])
    for (const name of ["trace", "candidates", "propensity", "examples"]) assert.include(text, `"${name}":`)
  })

  it("summarizes every operation in one line", () => {
    for (const { operationId, summary } of operations) assert.match(summary ?? "", /^[A-Z][^\n]{3,99}$/, operationId)
  })

  it("documents 503 for every operation with a key or a session", () => {
    const guarded = operations.filter(({ security }) => security.length > 0)
    assert.isAbove(guarded.length, 60)
    for (const { operationId, responses } of guarded) {
      assert.isDefined(responses[503]?.headers?.["Retry-After"], operationId)
    }
  })
})
