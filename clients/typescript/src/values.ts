import { ParlanceInvalidValue } from "./errors.ts"

/** Maximum nesting of a value. */
const maxDepth = 100

/** Maximum number of elements of a list. The service accepts bodies of 1 MiB, which hold about as many. */
const maxItems = 500_000

type Within = ReadonlyArray<object>

const refuse = (path: string, detail: string): never => {
  throw new ParlanceInvalidValue(path, detail)
}

/** Returns the path of a member, such as `fields.price`. */
const memberOf = (path: string, name: string): string => path === "" ? name : `${path}.${name}`

const nameOf = (key: unknown, path: string): string => {
  if (typeof key === "string") return key
  if (typeof key === "bigint" || typeof key === "boolean" || Number.isFinite(key)) return String(key)
  return refuse(path, `has a key of the type ${typeof key}: use a text`)
}

/** Returns the entries of an object as an object with prototype null, so that `__proto__` is an ordinary name. */
const objectOf = (entries: Iterable<readonly [unknown, unknown]>, path: string, within: Within): unknown => {
  const found: Record<string, unknown> = Object.create(null)
  for (const [key, value] of entries) {
    const name = nameOf(key, path)
    const place = memberOf(path, name)
    if (value === undefined) continue
    if (name in found) refuse(place, "is the name of two keys")
    found[name] = plain(value, place, within)
  }
  return found
}

const listOf = (items: Iterable<unknown>, path: string, within: Within): unknown =>
  Array.from(items, (item, index) => plain(item ?? null, `${path}[${index}]`, within))

const isBytes = (value: object): boolean =>
  value instanceof ArrayBuffer || value instanceof DataView || value instanceof Uint8Array ||
  value instanceof Uint8ClampedArray

/** Returns the object that stands for an object of a class. */
const ofClass = (value: object, path: string, within: Within): unknown => {
  const { name } = value.constructor ?? {}
  const entries = Object.entries(value)
  const prototype = Object.getPrototypeOf(value)
  if (entries.length === 0 && prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    return refuse(path, `is a ${name || "value"}${name === "Promise" ? ": await it" : ", which has no form in JSON"}`)
  }
  return objectOf(entries, path, within)
}

const ofObject = (value: object, path: string, within: Within): unknown => {
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? refuse(path, "is an invalid Date") : value.toISOString()
  }
  if (value instanceof URL) return value.href
  if (value instanceof Number || value instanceof String || value instanceof Boolean) {
    return plain(value.valueOf(), path)
  }
  if (isBytes(value)) return refuse(path, "is bytes: convert it to a text")
  if (within.includes(value)) return refuse(path, "contains itself")
  if (within.length >= maxDepth) return refuse(path, `is nested more than ${maxDepth} deep`)
  const inside = [...within, value]
  if (Array.isArray(value) || value instanceof Set || ArrayBuffer.isView(value)) {
    const { length, size = length } = value as { readonly length?: number; readonly size?: number }
    if (size! > maxItems) return refuse(path, `has ${size} elements, more than a request can have`)
    return listOf(value as Iterable<unknown>, path, inside)
  }
  if (value instanceof Map) return objectOf(value, path, inside)
  if ("toJSON" in value && typeof value.toJSON === "function") return plain(value.toJSON(), path, inside)
  return ofClass(value, path, inside)
}

/** Returns an object as `ofObject` does. A getter or a `toJSON` that throws is a `ParlanceInvalidValue` too. */
const readObject = (value: object, path: string, within: Within): unknown => {
  try {
    return ofObject(value, path, within)
  } catch (error) {
    if (error instanceof ParlanceInvalidValue) throw error
    throw new ParlanceInvalidValue(path, `cannot be read: ${error}`, { cause: error })
  }
}

/**
 * Returns `value` as a value of JSON. `path` names it in errors, such as `fields.price`. Throws `ParlanceInvalidValue`
 * for a value that has no form in JSON or that fails when it is read, with the path of this value.
 */
const plain = (value: unknown, path: string, within: Within = []): unknown => {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? value : refuse(path, `is ${value}, which JSON cannot represent: leave it out`)
    case "bigint":
      return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
    case "symbol":
    case "function":
      return refuse(path, `is a ${typeof value}, which has no form in JSON`)
    case "object":
      return value === null ? null : readObject(value, path, within)
    default:
      return value
  }
}

/** Returns the members of a request as values of JSON. `path` names the request in errors. */
export const members = <A extends object>(request: A, path = ""): A => {
  if (typeof request !== "object" || request === null || Array.isArray(request)) {
    throw new ParlanceInvalidValue(path || "request", "must be an object")
  }
  return Object.fromEntries(
    Object.entries(request).filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, plain(value, memberOf(path, name))]),
  ) as A
}

/** Returns a value as the text of a query parameter, a part of a path or a header. */
export const parameter = (value: unknown, name: string): string => {
  const found = plain(value, name)
  return typeof found === "string" || typeof found === "number" || typeof found === "boolean"
    ? String(found)
    : refuse(name, "must be a text or a number")
}

/** Returns a query with the parameters that have a value. */
export const queryOf = (parameters: object): string => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null) {
      query.set(name, parameter(value, name))
    }
  }
  return query.size === 0 ? "" : `?${query}`
}

/** Returns a value as an escaped part of a path. */
export const segment = (value: unknown, name = "id"): string => encodeURIComponent(parameter(value, name))
