import { SchemaAST } from "effect"

// A handler may return a domain object, which has a `Date` instead of a text, `undefined` instead of null, and
// `templateId` instead of `template_id`. The schema of the response determines the form of each member. Other members
// are omitted.

/** A name in the notation of domain objects: `templateId` for `template_id`. */
type DomainName<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<DomainName<Tail>>}` : Name

/** The values that can be converted to the wire form `T`. */
export type Sendable<T> = T extends string ? T | (string extends T ? Date : never)
  : T extends null ? null | undefined
  : T extends ReadonlyArray<infer A> ? ReadonlyArray<Sendable<A>>
  : T extends object ? SendableObject<T>
  : T

type Member<T, K extends keyof T> =
  | Sendable<T[K]>
  | (Record<never, never> extends Pick<T, K> ? undefined : never)

type SendableObject<T> = string extends keyof T ? { readonly [K in keyof T]: Sendable<T[K]> }
  : { readonly [K in keyof T]: Member<T, K> } | { readonly [K in keyof T as DomainName<K>]: Member<T, K> }

/** Converts a value to its wire form. */
type Write = (value: unknown) => unknown

const domainName = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date)

const writeLeaf: Write = (value) => value instanceof Date ? value.toISOString() : value

const writerOfObject = ({ indexSignatures, propertySignatures }: SchemaAST.Objects): Write => {
  const [index] = indexSignatures
  if (index !== undefined) {
    const write = writerOf(index.type)
    return (value) =>
      isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, write(one)])) : value
  }
  const members = propertySignatures.map(({ name, type }) => ({
    name: String(name),
    domain: domainName(String(name)),
    isOptional: SchemaAST.isOptional(type),
    write: writerOf(type),
  }))
  return (value) => {
    if (!isObject(value)) return value
    const written: Record<string, unknown> = {}
    for (const { domain, isOptional, name, write } of members) {
      const given = value[name] === undefined ? value[domain] : value[name]
      if (given !== undefined || !isOptional) written[name] = write(given)
    }
    return written
  }
}

const writerOfUnion = ({ types }: SchemaAST.Union): Write => {
  const isNullable = types.some(SchemaAST.isNull)
  const forms = types.filter((type) => !SchemaAST.isNull(type) && !SchemaAST.isUndefined(type))
  const write = forms.length === 1 ? writerOf(forms[0]!) : writeLeaf
  return (value) => value === null || value === undefined ? (isNullable ? null : value) : write(value)
}

const writers = new WeakMap<SchemaAST.AST, Write>()

const writerOf = (ast: SchemaAST.AST): Write => {
  const known = writers.get(ast)
  if (known !== undefined) return known
  // A recursive schema contains itself, so this writer represents it until the real writer exists.
  writers.set(ast, (value) => writers.get(ast)!(value))
  const write = newWriter(ast)
  writers.set(ast, write)
  return write
}

const newWriter = (ast: SchemaAST.AST): Write => {
  if (SchemaAST.isSuspend(ast)) return writerOf(ast.thunk())
  if (SchemaAST.isObjects(ast) && ast.propertySignatures.length + ast.indexSignatures.length > 0) {
    return writerOfObject(ast)
  }
  if (SchemaAST.isArrays(ast) && ast.elements.length === 0 && ast.rest.length === 1) {
    const write = writerOf(ast.rest[0]!)
    return (value) => Array.isArray(value) ? value.map(write) : value
  }
  return SchemaAST.isUnion(ast) ? writerOfUnion(ast) : writeLeaf
}

/** Returns a function that converts values to the wire form of `schema`. */
export const wireForm = <T>(
  schema: { readonly ast: SchemaAST.AST; readonly Type: T },
): (value: Sendable<T>) => T => writerOf(SchemaAST.toEncoded(schema.ast)) as (value: Sendable<T>) => T
