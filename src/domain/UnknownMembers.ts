import { JsonPointer, SchemaAST } from "effect"

/** Most members in one report. */
const maxFound = 100

/** Collects JSON pointers of members below `at` that have no effect. */
type Look = (value: unknown, at: string, found: Array<string>) => void

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const lookInObject = ({ indexSignatures, propertySignatures }: SchemaAST.Objects): Look => {
  const members = new Map(propertySignatures.map(({ name, type }) => [String(name), lookOf(type)]))
  const isOpen = indexSignatures.length > 0
  const further = indexSignatures.length === 1 ? lookOf(indexSignatures[0]!.type) : undefined
  return (value, at, found) => {
    if (!isRecord(value)) return
    for (const name of Object.keys(value)) {
      if (found.length === maxFound) return
      const pointer = `${at}/${JsonPointer.escapeToken(name)}`
      if (members.has(name)) members.get(name)?.(value[name], pointer, found)
      else if (isOpen) further?.(value[name], pointer, found)
      else found.push(pointer)
    }
  }
}

const lookInArray = ({ elements, rest }: SchemaAST.Arrays): Look | undefined => {
  const item = elements.length === 0 && rest.length === 1 ? lookOf(rest[0]!) : undefined
  return item && ((value, at, found) => {
    if (!Array.isArray(value)) return
    for (const [i, one] of value.entries()) {
      if (found.length === maxFound) return
      item(one, `${at}/${i}`, found)
    }
  })
}

/** Whether a value has the type and the required members of a form of a union. */
const isOf = (form: SchemaAST.AST, value: unknown): boolean =>
  SchemaAST.isArrays(form) ? Array.isArray(value) : SchemaAST.isObjects(form) && isRecord(value) &&
    form.propertySignatures.every(({ name, type }) => SchemaAST.isOptional(type) || Object.hasOwn(value, name))

/** Reports the unknown members of the matching form of a union that has the fewest. */
const lookInUnion = ({ types }: SchemaAST.Union): Look | undefined => {
  const forms = types.filter((type) => SchemaAST.isObjects(type) || SchemaAST.isArrays(type))
  const isFree = types.some((type) => SchemaAST.isUnknown(type) || SchemaAST.isAny(type))
  const looks = forms.map(lookOf)
  if (forms.length === 0 || isFree || looks.includes(undefined)) return undefined
  return (value, at, found) => {
    const fitting = looks.filter((_, i) => isOf(forms[i]!, value))
    if (fitting.length === 0) return
    const each = fitting.map((look) => {
      const own: Array<string> = []
      look!(value, at, own)
      return own
    })
    found.push(...each.reduce((least, own) => own.length < least.length ? own : least))
  }
}

/** The search for a schema. Undefined if values of the schema cannot have unknown members. */
const lookOf = (ast: SchemaAST.AST): Look | undefined => {
  if (SchemaAST.isObjects(ast)) return lookInObject(ast)
  if (SchemaAST.isArrays(ast)) return lookInArray(ast)
  return SchemaAST.isUnion(ast) ? lookInUnion(ast) : undefined
}

/**
 * Finds members of an input, at every depth, that `schema` accepts but does not declare, and which therefore have no
 * effect. Returns up to 100 JSON pointers. All names of a record are declared, and so is everything in a value of type
 * `Unknown`.
 */
export const unknownMembersIn = (
  schema: { readonly ast: SchemaAST.AST },
): (input: unknown) => ReadonlyArray<string> => {
  let look: Look | undefined
  return (input) => {
    look ??= lookOf(SchemaAST.toEncoded(schema.ast)) ?? (() => {})
    const found: Array<string> = []
    look(input, "", found)
    return found
  }
}
