import type { Operation } from "./PublicDocument.ts"

// Schemas of the public document, as the generators of clients read them.

/** The parts of a JSON Schema that the generators use. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly description?: string
  readonly deprecated?: boolean
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly required?: ReadonlyArray<string>
  readonly items?: Schema
  readonly anyOf?: ReadonlyArray<Schema>
  readonly oneOf?: ReadonlyArray<Schema>
}

/** The parts of the document that the generators use. */
export interface Document {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<Record<string, { readonly responses: Readonly<Record<string, { readonly headers?: object }>> }>>
    >
  >
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** Returns a schema, with a reference followed. */
export const resolve = ({ components }: Document, schema: Schema): Schema =>
  schema.$ref === undefined ? schema : components.schemas[schema.$ref.replace(/^.*\//, "")]!

/** Returns the first sentence of a description, in one line. */
export const sentenceOf = ({ description = "" }: Schema): string => {
  const [first = ""] = description.replace(/\s+/g, " ").split(/(?<=[.:])\s/)
  return first === "" || first.endsWith(".") ? first : `${first}.`
}

/** Whether the response of an operation has rows as NDJSON. */
export const isExport = ({ id }: Operation): boolean => id.startsWith("export")

/** Whether the headers of the response have ids that its body does not have. */
export const returnsHeaders = ({ paths }: Document, operation: Operation): boolean =>
  operation.id.startsWith("export") ||
  Object.keys(paths[operation.path]![operation.method]!.responses["200"]?.headers ?? {}).includes(
    "Parlance-Delivery-Id",
  )

/** Returns the member with the rows of a page, and the schema of a row. Undefined for operations without pages. */
export const pagesOf = (document: Document, { response }: Operation) => {
  const { properties = {} } = response === undefined ? {} : document.components.schemas[response]!
  const found = Object.entries(properties).find(([, { type }]) => type === "array")
  return properties["next_cursor"] === undefined || found === undefined
    ? undefined
    : { member: found[0], row: found[1].items ?? {} }
}
