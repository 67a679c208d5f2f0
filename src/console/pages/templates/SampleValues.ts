// Values of a sample by their place. The page and its script use this module, which therefore imports nothing.

/** Names and indexes that lead to a value. */
export type ValuePath = ReadonlyArray<string>

/** Larger numbers are names of members, because a list up to a large index would fill the memory. */
const isIndex = (segment: string): boolean => /^\d{1,3}$/.test(segment)

/** Returns the value at a path. Undefined if there is none. */
export const valueAt = (json: unknown, [head, ...rest]: ValuePath): unknown => {
  if (head === undefined) return json
  if (json === null || typeof json !== "object" || !Object.hasOwn(json, head)) return undefined
  return valueAt((json as Record<string, unknown>)[head], rest)
}

/** Returns `json` with a value at a path. Undefined removes a member. Makes objects and lists that are missing. */
export const withValue = (json: unknown, [head, ...rest]: ValuePath, value: unknown): unknown => {
  if (head === undefined) return value
  const known: Record<string, unknown> = json !== null && typeof json === "object" && !Array.isArray(json)
    ? json as Record<string, unknown>
    : {}
  if (isIndex(head)) {
    const list: Array<unknown> = Array.isArray(json) ? [...json] : []
    list[Number(head)] = withValue(list[Number(head)], rest, value)
    return list
  }
  const next = withValue(Object.hasOwn(known, head) ? known[head] : undefined, rest, value)
  if (next !== undefined) return { ...known, [head]: next }
  const { [head]: _, ...others } = known
  return others
}

/** Returns the text of a value in an input. Empty for a missing value. */
export const textOf = (value: unknown): string =>
  value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value)

/** Returns the value of an input's text. Undefined for an empty one. */
export const valueOf = (text: string, isNumber: boolean): unknown =>
  text === "" ? undefined : isNumber && /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text
