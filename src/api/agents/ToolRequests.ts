import type { OpenApi } from "effect/http-api"
import * as Json from "../../json/Json.ts"
import type { AgentTool } from "./AgentTools.ts"

type JsonSchema = Readonly<Record<string, unknown>>

/** A parameter of an operation in the OpenAPI document. */
interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly schema: JsonSchema
  readonly description?: string
}

/** A tool with everything that follows from its operation. */
export interface ToolForm {
  readonly tool: AgentTool
  readonly description: string
  /** JSON Schema of the arguments. The body of the operation is the argument `body`. */
  readonly input: JsonSchema
  /** Scopes of API keys, any of which grants access. */
  readonly scopes: ReadonlySet<string>
  readonly isReadOnly: boolean
  readonly method: string
  /** Path with `{org}` and the other names in braces. */
  readonly path: string
  readonly parameters: ReadonlyArray<Parameter>
}

/** A request that a tool makes. */
export interface ToolRequest {
  readonly method: string
  /** Path with query. */
  readonly target: string
  /** JSON. Undefined for a request without a body. */
  readonly body: string | undefined
}

const referencePrefix = "#/components/schemas/"

/** Adds the schemas that `value` refers to, directly or through other schemas, to `found`. */
const collect = (value: unknown, schemas: Readonly<Record<string, unknown>>, found: Map<string, unknown>): void => {
  if (typeof value !== "object" || value === null) return
  for (const [name, member] of Object.entries(value)) {
    if (name !== "$ref" || typeof member !== "string" || !member.startsWith(referencePrefix)) {
      collect(member, schemas, found)
      continue
    }
    const schema = member.slice(referencePrefix.length)
    if (found.has(schema)) continue
    found.set(schema, schemas[schema])
    collect(schemas[schema], schemas, found)
  }
}

/** Returns a schema with references into `$defs` instead of the document. */
const relocated = (value: unknown): unknown =>
  Json.parse(JSON.stringify(value).replaceAll(`"$ref":"${referencePrefix}`, '"$ref":"#/$defs/'))

const inputOf = (
  parameters: ReadonlyArray<Parameter>,
  body: JsonSchema | undefined,
  schemas: Readonly<Record<string, unknown>>,
): JsonSchema => {
  const properties = Object.fromEntries(
    parameters.map(({ description, name, schema }) => [
      name,
      description === undefined ? schema : { ...schema, description },
    ]),
  )
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name)
  const definitions = new Map<string, unknown>()
  collect({ properties, body }, schemas, definitions)
  return relocated({
    type: "object",
    properties: body === undefined ? properties : { ...properties, body },
    required: body === undefined ? required : [...required, "body"],
    additionalProperties: false,
    ...(definitions.size === 0 ? {} : { $defs: Object.fromEntries(definitions) }),
  }) as JsonSchema
}

/**
 * Returns the tools with their descriptions, arguments and access from the OpenAPI document. Throws if a tool names an
 * operation that the document lacks.
 */
export const toolForms = (
  document: OpenApi.OpenAPISpec,
  tools: ReadonlyArray<AgentTool>,
): ReadonlyArray<ToolForm> => {
  const schemas = (document.components?.schemas ?? {}) as Readonly<Record<string, unknown>>
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods as Readonly<Record<string, OpenApi.OpenAPISpecOperation>>).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation,
    }))
  )
  return tools.map((tool) => {
    const found = operations.find(({ operation }) => operation.operationId === tool.operation)
    if (found === undefined) throw new Error(`The API has no operation ${tool.operation} for the tool ${tool.name}`)
    const { method, operation, path } = found
    const parameters = (operation.parameters as unknown as ReadonlyArray<Parameter>).filter(({ in: place, name }) =>
      (place === "path" || place === "query") && name !== "org" && tool.fixed?.[name] === undefined
    )
    const body = operation.requestBody?.content["application/json"]?.schema as JsonSchema | undefined
    return {
      tool,
      description: [tool.purpose, operation.description].filter((text) => text !== undefined).join(" "),
      input: inputOf(parameters, body, schemas),
      scopes: new Set(operation.security.flatMap((scheme) => scheme["ApiKeyHeader"] ?? [])),
      isReadOnly: tool.stores === undefined,
      method,
      path,
      parameters,
    }
  })
}

/** Whether a text can be an id in a path. A URL without the segments `.` and `..` would name another operation. */
const isSegment = (text: string): boolean => !/^\.{0,2}$/.test(text) && text.length <= 200 && text.isWellFormed()

const textOf = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value)

/**
 * Returns the request of a call, or the faults of its arguments. Values are checked by the operation, as for every
 * caller. `org`: slug of the organization of the key.
 */
export const toolRequest = (
  { input, method, parameters, path, tool }: ToolForm,
  org: string,
  values: Readonly<Record<string, unknown>>,
): ToolRequest | ReadonlyArray<string> => {
  const known = input["properties"] as Readonly<Record<string, unknown>>
  const required = input["required"] as ReadonlyArray<string>
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null)
  const names = new Set(given.map(([name]) => name))
  const places = new Map(parameters.map((parameter) => [parameter.name, parameter.in]))
  const faults = [
    ...required.filter((name) => !names.has(name)).map((name) => `The argument ${JSON.stringify(name)} is missing`),
    ...given.filter(([name]) => !Object.hasOwn(known, name)).map(([name]) =>
      `There is no argument ${JSON.stringify(name.slice(0, 100))}. There are: ${Object.keys(known).join(", ")}`
    ),
    ...given.filter(([name, value]) => places.get(name) === "path" && !isSegment(textOf(value))).map(([name]) =>
      `The argument ${JSON.stringify(name)} must be an id: 1 to 200 characters of well-formed Unicode, not "." or ".."`
    ),
  ]
  if (faults.length > 0) return faults
  const query = new URLSearchParams(tool.fixed)
  let target = path.replace("{org}", encodeURIComponent(org))
  for (const [name, value] of given) {
    if (places.get(name) === "path") target = target.replace(`{${name}}`, encodeURIComponent(textOf(value)))
    else if (places.get(name) === "query") {
      for (const one of Array.isArray(value) ? value : [value]) query.append(name, textOf(one))
    }
  }
  return {
    method,
    target: query.size === 0 ? target : `${target}?${query}`,
    body: names.has("body") ? JSON.stringify(values["body"]) : undefined,
  }
}
