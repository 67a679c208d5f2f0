import type { OpenApi } from "effect/http-api"

// Parts of the OpenAPI document that are the same for all endpoints.

/**
 * A copy of a schema with open objects: unknown members are ignored in requests and may be added to responses. Schemas
 * that refuse unknown members, such as the settings of a source or a connection, declare no properties.
 */
const opened = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(opened)
  if (node === null || typeof node !== "object") return node
  return Object.fromEntries(
    Object.entries(node).flatMap(([name, value]) =>
      name === "additionalProperties" && value === false ? [] : [[name, opened(value)]]
    ),
  )
}

/** How the API's keys are sent. */
const keySchemes = {
  ApiKeyHeader: { type: "apiKey", in: "header", name: "X-Api-Key" },
  ApiKeyBearer: { type: "http", scheme: "bearer" },
} as const

const text = { type: "string" }

/** Headers of answers, by name. */
const headers = {
  "X-Request-Id": {
    description:
      "The request's id in logs and traces: the caller's own if it sent one of 1 to 128 printable characters",
    required: true,
    schema: text,
  },
  "Decision-Durable": {
    description:
      "`false`: the store is down, and the decision waits in the memory of one node to be written. Absent: it " +
      "was stored before the answer left",
    schema: { type: "string", enum: ["false"] },
  },
  "Parlance-Delivery-Id": {
    description: "Id of the queued message, under which its delivery can be read and cancelled",
    required: true,
    schema: text,
  },
  "Parlance-Tracking-Id": {
    description: "Tracking id of the message, under which events about it are reported",
    required: true,
    schema: text,
  },
  "Idempotent-Replayed": {
    description: "`true`: the message was queued by an earlier request with this Idempotency-Key",
    schema: { type: "string", enum: ["true"] },
  },
  "Retry-After": {
    description: "Seconds after which the request can be sent again",
    required: true,
    schema: { type: "string", pattern: "^[0-9]+$" },
  },
  "RateLimit-Policy": {
    description: "If the key has a limit: requests (`q`) in so many seconds (`w`). " +
      "After draft-ietf-httpapi-ratelimit-headers-10",
    schema: text,
    example: '"default";q=100;w=60',
  },
  "RateLimit": {
    description: "If the key has a limit: requests that are left (`r`), and the seconds until there are more (`t`)",
    schema: text,
    example: '"default";r=97;t=42',
  },
  "WWW-Authenticate": { description: "How to authenticate", required: true, schema: text },
}

/** Which of them an answer carries, or can carry. */
const headersOf = (
  { security, tags }: OpenApi.OpenAPISpecOperation,
  status: number,
): ReadonlyArray<keyof typeof headers> => {
  // A key that opens nothing here is refused before anything is counted against its limit.
  const isCounted = security.some((schemes) => "ApiKeyHeader" in schemes) && status !== 401 && status !== 403
  return [
    "X-Request-Id",
    ...(status === 200 && tags.includes("generate") ? ["Decision-Durable"] as const : []),
    ...(status === 200 && tags.includes("deliver")
      ? ["Parlance-Delivery-Id", "Parlance-Tracking-Id", "Idempotent-Replayed"] as const
      : []),
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

/** Completes the OpenAPI document generated from the declarations. */
export const finished = (document: OpenApi.OpenAPISpec): OpenApi.OpenAPISpec => {
  const { components, paths, ...others } = document
  const described = Object.entries(paths).map(([path, item]) => [
    path,
    Object.fromEntries(
      Object.entries(item as Record<string, OpenApi.OpenAPISpecOperation>).map((
        [method, operation],
      ) => [method, withHeaders(operation)]),
    ),
  ])
  const more = { headers, securitySchemes: { ...components.securitySchemes, ...keySchemes } }
  return {
    ...others,
    paths: opened(Object.fromEntries(described)) as typeof paths,
    components: { schemas: opened(components.schemas) as typeof components.schemas, ...more },
  }
}
