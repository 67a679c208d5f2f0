import type { OpenApi } from "effect/http-api"

// Converts the schemas of the OpenAPI document to the form that client generators need: each body has a name, objects
// are open, and a value of any shape has the schema `JsonValue`.

type Node = Readonly<Record<string, unknown>>

const isNode = (value: unknown): value is Node => value !== null && typeof value === "object" && !Array.isArray(value)

const prefix = "#/components/schemas/"

const referTo = (name: string) => ({ $ref: prefix + name })

/** Returns the name of a schema without the suffix of a class's JSON form. */
const plainName = (name: string) => name.replace(/Encoded$/, "")

/** Schemas that the contracts do not declare. */
const additional = {
  // The schema is not recursive, because TypeScript rejects the recursive type that generators would derive.
  JsonValue: {
    description: "Any JSON value",
    anyOf: [
      { type: "null" },
      { type: "boolean" },
      { type: "number" },
      { type: "string" },
      { type: "array", items: {} },
      { type: "object", additionalProperties: true },
    ],
  },
  Problem: {
    description: "A problem (RFC 9457). `/problems` lists all types with their remedies",
    type: "object",
    properties: {
      type: { type: "string", description: "Path of the page that explains the problem" },
      title: { type: "string" },
      status: { type: "integer" },
      detail: { type: "string", description: "What happened, where, and what to do next" },
      instance: { type: "string", description: "Id of the request" },
    },
    required: ["type", "title", "status"],
    additionalProperties: true,
  },
}

/** Members of a schema that do not affect the shape of its values. */
const annotations = new Set(["title", "description", "examples", "default"])

/**
 * Returns a copy of a schema with open objects: requests may contain unknown members, which are ignored, and later
 * versions may add members to responses. An object without declared members, such as `fields`, may have any members.
 */
const opened = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(opened)
  if (!isNode(schema)) return schema
  if (Object.keys(schema).every((name) => annotations.has(name))) return { ...schema, ...referTo("JsonValue") }
  const copy: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(schema)) {
    if (name === "additionalProperties" && !isNode(value)) continue
    copy[name] = name === "$ref"
      ? plainName(String(value))
      : name === "properties" && isNode(value)
      ? Object.fromEntries(Object.entries(value).map(([member, inner]) => [member, opened(inner)]))
      : annotations.has(name) || name === "enum" || name === "required"
      ? value
      : opened(value)
  }
  const isFree = schema["type"] === "object" && schema["properties"] === undefined
  if (isEarlier(schema)) copy["deprecated"] = true
  return isFree && copy["additionalProperties"] === undefined ? { ...copy, additionalProperties: true } : copy
}

/** Whether a member or a parameter is an earlier name or form of another one, by its description. */
const isEarlier = ({ description }: Node): boolean =>
  typeof description === "string" && description.startsWith("Earlier ")

const capitalized = (name: string) => name.slice(0, 1).toUpperCase() + name.slice(1)

type Content = Readonly<Record<string, { readonly schema: Node }>>

/**
 * Opens the schemas of a document, and names body schemas that have no name, such as `ListKeysResponse` and
 * `PutSourceRequest`.
 */
export const withNamedSchemas = (
  paths: Readonly<Record<string, Readonly<Record<string, OpenApi.OpenAPISpecOperation>>>>,
  declared: Readonly<Record<string, unknown>>,
): { readonly paths: unknown; readonly schemas: unknown } => {
  const schemas: Record<string, unknown> = { ...additional }
  for (const [name, schema] of Object.entries(declared)) schemas[plainName(name)] = opened(schema)

  const content = (parts: Content, name: string) =>
    Object.fromEntries(
      Object.entries(parts).map(([type, part]) => {
        const schema = opened(part.schema)
        if (type !== "application/json" || "$ref" in part.schema) return [type, { ...part, schema }]
        schemas[name] = schema
        return [type, { ...part, schema: referTo(name) }]
      }),
    )

  const operation = ({ operationId, parameters, requestBody, responses, ...others }: OpenApi.OpenAPISpecOperation) => {
    const name = capitalized(operationId)
    return {
      ...others,
      operationId,
      parameters: parameters.map((parameter) => ({
        ...parameter,
        schema: opened(parameter.schema),
        ...(isEarlier(parameter.schema as unknown as Node) ? { deprecated: true } : {}),
      })),
      ...(requestBody === undefined ? {} : {
        requestBody: { ...requestBody, content: content(requestBody.content as unknown as Content, `${name}Request`) },
      }),
      responses: Object.fromEntries(
        Object.entries(responses).map(([status, response]) => [
          status,
          response.content === undefined
            ? response
            : { ...response, content: content(response.content as unknown as Content, `${name}Response`) },
        ]),
      ),
    }
  }

  const named = Object.fromEntries(
    Object.entries(paths).map(([path, item]) => [
      path,
      Object.fromEntries(Object.entries(item).map(([method, spec]) => [method, operation(spec)])),
    ]),
  )
  return { paths: named, schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => a < b ? -1 : 1)) }
}
