import type { OpenApi } from "effect/http-api"

// The part of the OpenAPI document that the clients cover.

/** Operations of the clients: the operations that a key of an organization calls in production, in the order of the guide. */
export const publicOperations = [
  "generate",
  "generateByQuery",
  "batchGenerate",
  "delay",
  "deliver",
  "listOwnDeliveries",
  "getOwnDelivery",
  "cancelOwnDelivery",
  "cancelOwnDeliveries",
  "receiveEvents",
  "listTemplates",
  "getTemplate",
  "createTemplate",
  "updateTemplate",
  "createVariant",
  "updateVariant",
  "templateResults",
  "listKeys",
  "createKey",
  "revokeKey",
  "exportDecisions",
  "exportEvents",
  "exportDeliveries",
] as const

/** The id of an operation of the clients. */
export type PublicOperation = typeof publicOperations[number]

/** An operation with the names of its parameters by place, without earlier names. */
export interface Operation {
  readonly id: PublicOperation
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly parameters: Readonly<Record<"path" | "query" | "header", ReadonlyArray<string>>>
  /** Name of the schema of the JSON body. Undefined without a body. */
  readonly request: string | undefined
  /** Name of the schema of the JSON response. Undefined for other responses. */
  readonly response: string | undefined
}

/** The document, and its operations in the order of `publicOperations`. */
export interface PublicDocument {
  readonly document: Readonly<Record<string, unknown>>
  readonly operations: ReadonlyArray<Operation>
}

type Node = Readonly<Record<string, unknown>>

const referencesIn = (value: unknown): ReadonlyArray<string> =>
  [...JSON.stringify(value).matchAll(/"\$ref":"#\/components\/(\w+\/[\w-]+)"/g)].map(([, name]) => name!)

/** Returns the components that a value refers to, also through other components. */
const componentsOf = (value: unknown, all: Readonly<Record<string, Readonly<Record<string, unknown>>>>) => {
  const found = new Set<string>()
  const waiting = [...referencesIn(value)]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue
    found.add(name)
    const [kind = "", id = ""] = name.split("/")
    waiting.push(...referencesIn(all[kind]![id]))
  }
  const kinds: Record<string, Record<string, unknown>> = {}
  for (const name of [...found].sort()) {
    const [kind = "", id = ""] = name.split("/")
    kinds[kind] = { ...kinds[kind], [id]: all[kind]![id] }
  }
  return kinds
}

type Content = Readonly<Record<string, { readonly schema?: { readonly $ref?: string } }>> | undefined

const schemaNameOf = (content: Content): string | undefined =>
  content?.["application/json"]?.schema?.$ref?.replace("#/components/schemas/", "")

interface Described {
  readonly operationId: string
  readonly summary?: string
  readonly parameters: ReadonlyArray<{ readonly name: string; readonly in: string; readonly deprecated?: boolean }>
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
  readonly security: ReadonlyArray<Node>
}

const isOfKey = (scheme: Node): boolean => Object.keys(scheme).some((name) => name.startsWith("ApiKey"))

/** Returns a value of JSON without its members of these names. */
const without = <A>(value: A, ...names: ReadonlyArray<string>): A =>
  JSON.parse(JSON.stringify(value, (name, one) => names.includes(name) ? undefined : one))

/** Removes what only the whole document needs: examples, the single types of problems, and other ways to authenticate. */
const reduced = ({ responses, security, ...operation }: Described): Described => ({
  ...without(operation, "examples", "x-codeSamples"),
  responses: Object.fromEntries(
    Object.entries(without(responses, "examples")).filter(([status]) => /^2|default/.test(status)),
  ),
  security: security.filter(isOfKey),
})

/** Returns the part of the document with the operations of the clients. */
export const publicDocument = (whole: OpenApi.OpenAPISpec): PublicDocument => {
  const all = Object.entries(whole.paths).flatMap(([path, item]) =>
    Object.entries(item as unknown as Readonly<Record<string, Described>>)
      .map(([method, operation]) => ({ path, method, operation: reduced(operation) }))
  )
  const chosen = publicOperations.map((id) => all.find(({ operation }) => operation.operationId === id)!)
  const paths: Record<string, Record<string, Described>> = {}
  for (const { method, operation, path } of chosen) paths[path] = { ...paths[path], [method]: operation }
  const { securitySchemes, ...components } = whole.components as never as Record<string, Record<string, unknown>>
  return {
    document: {
      openapi: whole.openapi,
      info: whole.info,
      servers: [{ url: "https://parlance.example.com", description: "Your installation" }],
      paths,
      components: {
        ...componentsOf(paths, components),
        securitySchemes: Object.fromEntries(
          Object.entries(securitySchemes!).filter(([name]) => name.startsWith("ApiKey")),
        ),
      },
    },
    operations: chosen.map(
      ({ method, operation: { operationId, parameters, requestBody, responses, summary }, path }) => {
        const named = (place: string) =>
          parameters.filter((one) => one.in === place && one.deprecated !== true).map(({ name }) => name)
        return {
          id: operationId as PublicOperation,
          method,
          path,
          summary: summary ?? "",
          parameters: { path: named("path"), query: named("query"), header: named("header") },
          request: schemaNameOf(requestBody?.content),
          response: schemaNameOf((responses["200"] ?? responses["201"])?.content),
        }
      },
    ),
  }
}
