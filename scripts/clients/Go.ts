import type { Operation, PublicDocument } from "./PublicDocument.ts"
import { type Document, isExport, pagesOf, resolve, returnsHeaders, type Schema, sentenceOf } from "./Schemas.ts"

// Writes the client in Go: a type for each schema, and a method for each operation. clients/go/client.go has the rest.

const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

const initials = new Map([["Id", "ID"], ["Url", "URL"], ["Api", "API"], ["Html", "HTML"]])

/** Returns a name of the API in the notation of Go, such as `TrackingID` for `tracking_id`. */
const exported = (name: string): string =>
  name.split(/[^A-Za-z0-9]+/).filter((word) => word !== "").map(capitalized)
    .map((word) => initials.get(word) ?? word).join("")

const local = (name: string): string => {
  const found = exported(name).replace(/^[A-Z]+(?![a-z])|^[A-Z]/, (letters) => letters.toLowerCase())
  return found === "type" ? "kind" : found
}

const comment = (text: string, indent = ""): string => text === "" ? "" : `${indent}// ${text}\n`

/** Types by name, in the order in which they are needed. */
type Types = Map<string, string>

/** Returns the type of a schema. `name` is the name of the type if the schema has members of its own. */
const typeOf = (document: Document, schema: Schema, name: string, types: Types): string => {
  if (schema.$ref !== undefined) {
    const id = schema.$ref.replace(/^.*\//, "")
    return id === "JsonValue" ? "any" : typeOf(document, resolve(document, schema), id, types)
  }
  const options = (schema.anyOf ?? schema.oneOf)?.filter(({ type }) => type !== "null")
  if (options !== undefined) {
    const [only] = options
    if (only === undefined || options.length > 1) return "any"
    return optional(typeOf(document, only, name, types))
  }
  switch (schema.type) {
    case "string":
      return "string"
    case "integer":
      return "int64"
    case "number":
      return "float64"
    case "boolean":
      return "bool"
    case "array":
      return `[]${typeOf(document, schema.items ?? {}, `${name}Item`, types)}`
    case "object":
      return typeOfObject(document, schema, name, types)
    default:
      return "any"
  }
}

const typeOfObject = (document: Document, schema: Schema, name: string, types: Types): string => {
  if (schema.properties === undefined) {
    const { additionalProperties: values } = schema
    return `map[string]${typeof values === "object" ? typeOf(document, values, `${name}Value`, types) : "any"}`
  }
  if (!types.has(name)) {
    // Reserves the place, so that a type that contains itself ends.
    types.set(name, "")
    types.set(name, structOf(document, schema, name, types))
  }
  return name
}

/** Returns the type of a value that may be absent. */
const optional = (type: string): string => /^(\*|\[|map|any)/.test(type) ? type : `*${type}`

const structOf = (document: Document, schema: Schema, name: string, types: Types): string => {
  const fields = Object.entries(schema.properties ?? {}).filter(([, one]) => one.deprecated !== true).map(
    ([member, one]) => {
      const type = typeOf(document, one, name + exported(member), types)
      const isRequired = schema.required?.includes(member) === true
      const tag = `\`json:"${member}${isRequired ? "" : ",omitempty"}"\``
      return `${comment(sentenceOf(one), "\t")}\t${exported(member)} ${isRequired ? type : optional(type)} ${tag}\n`
    },
  )
  // A pointer that is nil is left out, so a patch names the members that it sets to null.
  if (name.endsWith("Patch")) {
    fields.push('\t// Clear has the names of members to set to null, such as holdout.\n\tClear []string `json:"-"`\n')
  }
  return `${comment(`${name}: ${sentenceOf(schema) || "an object of the API."}`)}type ${name} struct {\n${
    fields.join("\n")
  }}\n`
}

/** Returns the expression of a path, with its parameters escaped. */
const pathOf = ({ path }: Operation): string =>
  path.split(/\{(\w+)\}/).map((part, n) =>
    n % 2 === 0 ? part === "" ? "" : `"${part}"` : part === "org" ? "c.org" : `url.PathEscape(${local(part)})`
  ).filter((part) => part !== "").join(" + ")

const queryType = ({ id }: Operation): string => `${capitalized(id)}Query`

const queryStruct = (document: PublicDocument, operation: Operation): string => {
  const { query } = operation.parameters
  if (query.length === 0) return ""
  const fields = query.map((name) =>
    `${comment(sentenceOf(parameterOf(document, operation, name)), "\t")}\t${exported(name)} string\n`
  )
  const values = query.map((name) => `"${name}": q.${exported(name)}`)
  return `// ${queryType(operation)} has the parameters of ${capitalized(operation.id)}. An empty parameter is not sent.
type ${queryType(operation)} struct {
${fields.join("\n")}}

func (q ${queryType(operation)}) values() url.Values {
\treturn valuesOf(map[string]string{${values.join(", ")}})
}
`
}

const parameterOf = ({ document }: PublicDocument, { method, path }: Operation, name: string): Schema => {
  const paths = document["paths"] as Record<
    string,
    Record<string, { readonly parameters: ReadonlyArray<Schema & { name: string }> }>
  >
  const found = paths[path]![method]!.parameters.find((one) => one.name === name)!
  return (found as unknown as { readonly schema: Schema }).schema
}

/** Operations that create something, which a retry could create twice. */
const isOnce = ({ method, parameters: { header } }: Operation): boolean =>
  method === "post" && !header.includes("idempotency-key")

const methodOf = (document: PublicDocument, operation: Operation, types: Types): string => {
  const { id, method, parameters, request, response, summary } = operation
  const name = capitalized(id)
  const api = document.document as unknown as Document
  const ref = (schema: string) => typeOf(api, { $ref: `#/components/schemas/${schema}` }, schema, types)
  const args = [
    "ctx context.Context",
    ...parameters.path.filter((one) => one !== "org").map((one) => `${local(one)} string`),
    ...(request === undefined ? [] : [`body ${ref(request)}`]),
    ...(parameters.query.length === 0 ? [] : [`query ${queryType(operation)}`]),
    ...parameters.header.map((one) => `${local(one)} string`),
  ].join(", ")
  const call = [
    `method: "${method.toUpperCase()}"`,
    `path: ${pathOf(operation)}`,
    ...(parameters.query.length === 0 ? [] : ["query: query.values()"]),
    ...(request === undefined ? [] : ["body: body"]),
    ...(parameters.header.length === 0
      ? []
      : [`headers: headersOf(map[string]string{${
        parameters.header.map((one) => `"${one}": ${local(one)}`).join(", ")
      }})`]),
    ...(isOnce(operation) ? ["once: true"] : []),
  ].join(", ")
  if (isExport(operation)) return exportMethod(name, operation, call)
  if (response === undefined) {
    return `// ${name}: ${summary}.\nfunc (c *Client) ${name}(${args}) error {
\t_, err := c.send(ctx, call{${call}}, nil)
\treturn err
}
`
  }
  const type = ref(response)
  const hasHeaders = returnsHeaders(api, operation)
  return `// ${name}: ${summary}.${hasHeaders ? " The header has the ids of the message." : ""}
func (c *Client) ${name}(${args}) (found ${type}, ${hasHeaders ? "header http.Header, " : ""}err error) {
\t${hasHeaders ? "header" : "_"}, err = c.send(ctx, call{${call}}, &found)
\treturn
}
${pageMethod(api, operation, args, types)}`
}

const exportMethod = (name: string, operation: Operation, call: string): string =>
  `// ${name}: ${operation.summary}. Calls row for each row of all pages. Returns the cursor of the next run.
func (c *Client) ${name}(ctx context.Context, query ${
    queryType(operation)
  }, row func(map[string]any) error) (cursor string, err error) {
\treturn exportRows(query.Cursor, func(cursor string) (http.Header, []byte, error) {
\t\tquery.Cursor = cursor
\t\tvar text []byte
\t\theader, err := c.send(ctx, call{${call}}, &text)
\t\treturn header, text, err
\t}, row)
}
`

const pageMethod = (document: Document, operation: Operation, args: string, types: Types): string => {
  const pages = pagesOf(document, operation)
  if (pages === undefined) return ""
  const name = capitalized(operation.id)
  const row = typeOf(document, pages.row, `${name}Row`, types)
  return `
// ${name}Each calls row for each row of all pages, and ends with its first error.
func (c *Client) ${name}Each(${args}, row func(${row}) error) error {
\tfor {
\t\tpage, err := c.${name}(ctx, query)
\t\tif err != nil {
\t\t\treturn err
\t\t}
\t\tfor _, one := range page.${exported(pages.member)} {
\t\t\tif err := row(one); err != nil {
\t\t\t\treturn err
\t\t\t}
\t\t}
\t\tif page.NextCursor == nil {
\t\t\treturn nil
\t\t}
\t\tquery.Cursor = *page.NextCursor
\t}
}
`
}

/** Returns operations.go. */
export const goClient = (document: PublicDocument): string => {
  const types: Types = new Map()
  const methods = document.operations.map((one) => methodOf(document, one, types))
  const queries = document.operations.map((one) => queryStruct(document, one)).filter((text) => text !== "")
  const structs = [...types].sort(([a], [b]) => a < b ? -1 : 1).map(([, text]) => text)
  return `// Code generated by scripts/writeClients.ts. DO NOT EDIT.

package parlance

import (
\t"context"
\t"net/http"
\t"net/url"
)

${[...methods, ...queries, ...structs].join("\n")}`
}
