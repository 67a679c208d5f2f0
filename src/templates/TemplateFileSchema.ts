import { Schema } from "effect"
import { File } from "./TemplateFile.ts"

type Node = Readonly<Record<string, unknown>>

const isNode = (value: unknown): value is Node => value !== null && typeof value === "object" && !Array.isArray(value)

/**
 * Returns a copy without `allOf`, whose members move into the surrounding schema, because editors show only the
 * description of the outermost schema. If both limit a number, the inner limit is the narrower one.
 */
const flat = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(flat)
  if (!isNode(schema)) return schema
  const { allOf = [], ...own } = schema
  return Object.fromEntries(
    Object.entries(Object.assign(own, ...allOf as ReadonlyArray<Node>)).map(([name, value]) => [name, flat(value)]),
  )
}

/**
 * Returns the JSON Schema (draft 2020-12) of template files, for editors and pipelines. It describes only the form of a
 * file. Liquid, dates and conditions among members are checked by an import.
 */
export const templateFileSchema = (): Node => {
  const { definitions, schema } = Schema.toJsonSchemaDocument(File, {
    onExcessProperty: "error",
    generateDescriptions: false,
  })
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Parlance template file",
    description: "Templates and their variants, for `parlance template import`",
    ...flat(schema) as Node,
    patternProperties: { "^x-": { description: "A place for parts that aliases share" } },
    $defs: flat(definitions),
  }
}
