import type { OpenApi } from "effect/http-api"

// What the document of the API says beyond the declarations of its endpoints, which is the same for all of them.

/**
 * The same with objects open: members that are not named are ignored in what is asked, and may be added to what is
 * answered. Where they are refused, as in the settings of a source or a connection, the schema names none at all.
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

/** The document as it is served, from what the declarations make of it. */
export const finished = (document: OpenApi.OpenAPISpec): OpenApi.OpenAPISpec => {
  const { components, paths, ...others } = document
  return {
    ...others,
    paths: opened(paths) as typeof paths,
    components: {
      schemas: opened(components.schemas) as typeof components.schemas,
      securitySchemes: { ...components.securitySchemes, ...keySchemes },
    },
  }
}
