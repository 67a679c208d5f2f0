import type { OpenApi } from "effect/http-api"
import { type Examples, readExamples, readSamples, withExamples } from "./Examples.ts"
import { accessOf, keySchemes, managementSchemes, operationName } from "./Security.ts"
import { webhooks } from "../endpoints/OutgoingDocument.ts"
import { withNamedSchemas } from "./NamedSchemas.ts"

// Parts of the OpenAPI document that all endpoints share.

const text = { type: "string" }

/** Headers of responses, by name. */
const headers = {
  "X-Request-Id": {
    description:
      "The request's id in logs and traces: the caller's own if it sent one of 1 to 128 printable characters",
    required: true,
    schema: text,
  },
  "Decision-Durable": {
    description: "`false`: the database is down, and the decision waits in the memory of one node. Absent: it " +
      "was stored before the response",
    schema: { type: "string", enum: ["false"] },
  },
  "Parlance-Delivery-Id": {
    description: "Id of the queued message, for reading and cancelling its delivery",
    required: true,
    schema: text,
  },
  "Parlance-Tracking-Id": {
    description: "Tracking id of the message, for reporting events about it",
    required: true,
    schema: text,
  },
  "Idempotent-Replayed": {
    description: "`true`: the message was queued by an earlier request with this Idempotency-Key",
    schema: { type: "string", enum: ["true"] },
  },
  "Retry-After": {
    description: "Seconds to wait before sending the request again",
    required: true,
    schema: { type: "string", pattern: "^[0-9]+$" },
  },
  "RateLimit-Policy": {
    description: "If the key has a limit: requests (`q`) per period of `w` seconds. " +
      "After draft-ietf-httpapi-ratelimit-headers-10",
    schema: text,
    example: '"default";q=100;w=60',
  },
  "RateLimit": {
    description: "If the key has a limit: remaining requests (`r`), and seconds until more are allowed (`t`)",
    schema: text,
    example: '"default";r=97;t=42',
  },
  "Parlance-Cursor": {
    description: "Cursor of an export: the value of `cursor` for the next page",
    required: true,
    schema: text,
  },
  "Parlance-More": {
    description: "`true`: the export has more rows now",
    required: true,
    schema: { type: "string", enum: ["true", "false"] },
  },
  "WWW-Authenticate": { description: "How to authenticate", required: true, schema: text },
}

/** Returns the names of the headers that responses of a status can have. */
const headersOf = (
  { security, tags }: OpenApi.OpenAPISpecOperation,
  status: number,
): ReadonlyArray<keyof typeof headers> => {
  // A key without access is refused before the request counts against the key's limit.
  const isCounted = security.some((schemes) => "ApiKeyHeader" in schemes) && status !== 401 && status !== 403
  return [
    "X-Request-Id",
    ...(status === 200 && tags.includes("generate") ? ["Decision-Durable"] as const : []),
    ...(status === 200 && tags.includes("deliver")
      ? ["Parlance-Delivery-Id", "Parlance-Tracking-Id", "Idempotent-Replayed"] as const
      : []),
    ...(status === 200 && tags.includes("exports") ? ["Parlance-Cursor", "Parlance-More"] as const : []),
    ...(status === 401 ? ["WWW-Authenticate"] as const : []),
    ...(status === 429 || status === 503 ? ["Retry-After"] as const : []),
    ...(isCounted ? ["RateLimit-Policy", "RateLimit"] as const : []),
  ]
}

const withHeaders = (operation: OpenApi.OpenAPISpecOperation) => ({
  ...operation,
  responses: Object.fromEntries(
    Object.entries(operation.responses).map(([status, response]) => [status, {
      ...response,
      headers: Object.fromEntries(
        headersOf(operation, Number(status)).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
      ),
    }]),
  ),
})

/** The response of every operation to a request with a problem that the operation does not list. */
const otherProblem = {
  description: "Any other problem, such as a path that is not valid or headers that are too long",
  content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
}

/** Validators of OpenAPI require that each operation describes its response to faulty requests. */
const others4xx = (responses: object) =>
  Object.keys(responses).some((status) => status.startsWith("4")) ? {} : { "4XX": otherProblem }

const completed = (
  operation: OpenApi.OpenAPISpecOperation,
  examples: Examples,
  samples: ReturnType<typeof readSamples>,
): OpenApi.OpenAPISpecOperation => {
  const operationId = operationName(operation.operationId)
  const example = examples[operationId]
  const { description, responses, ...others } = withHeaders(
    example === undefined ? operation : withExamples(operation, example),
  )
  const access = accessOf(operation.security)
  return {
    ...others,
    ...(description === undefined && access === undefined
      ? {}
      : { description: [description, access].filter((text) => text !== undefined).join(" ") }),
    operationId,
    ...(samples[operationId] === undefined ? {} : { "x-codeSamples": samples[operationId] }),
    responses: {
      ...responses,
      ...others4xx(responses),
      default: otherProblem,
    } as unknown as OpenApi.OpenAPISpecResponses,
  }
}

/** Returns the heading of a group in the API reference, such as `Bulk actions` for `bulkActions`. */
const displayName = (tag: string): string => {
  const words = tag.replace(/(?<=.)[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return words.slice(0, 1).toUpperCase() + words.slice(1)
}

/** Completes the OpenAPI document generated from the declarations. */
export const finished = (document: OpenApi.OpenAPISpec): OpenApi.OpenAPISpec => {
  const { components, info, paths, tags, ...others } = document
  const examples = readExamples()
  const samples = readSamples()
  const operations = Object.entries(paths).map(([path, item]) => [
    path,
    Object.fromEntries(
      Object.entries(item as Record<string, OpenApi.OpenAPISpecOperation>).map((
        [method, operation],
      ) => [method, completed(operation, examples, samples)]),
    ),
  ])
  const { schemas, ...named } = withNamedSchemas(Object.fromEntries(operations), components.schemas)
  return {
    ...others,
    info: { ...info, license: { name: "Proprietary", identifier: "LicenseRef-Proprietary" } },
    tags: tags.map((tag) => ({ ...tag, "x-displayName": displayName(tag.name) })),
    servers: [{ url: "/", description: "The service that serves this document" }],
    paths: named.paths as typeof paths,
    ...{ webhooks },
    components: {
      schemas: schemas as typeof components.schemas,
      ...{ headers, securitySchemes: { ...components.securitySchemes, ...managementSchemes, ...keySchemes } },
    },
  }
}
