import { SeededMap } from "../json/SeededMap.ts"
import type { Decimal } from "./Decimals.ts"
import * as Decimals from "./Decimals.ts"
import type { FilterEntry } from "./FilterEntry.ts"
import type { Run } from "./Run.ts"
import { elements, equals, isNothing, isTrue, list, memberAt, order, plainDecimal, text } from "./Values.ts"

const onList = (
  needs: number,
  make: (elements: ReadonlyArray<unknown>, args: ReadonlyArray<unknown>, run: Run) => unknown,
): FilterEntry => ({ needs, apply: (input, args, run) => make(list(input, run), args, run) })

type Make = Parameters<typeof onList>[1]

/** A filter of a list whose optional argument is the path of a member. */
const byMember = (make: Make): FilterEntry => ({ ...onList(0, make), takes: 1 })

/** A filter that tests a member of the elements, optionally against an expected value. */
const testing = (make: Make): FilterEntry => ({ ...onList(1, make), takes: 2 })

/** Whether an element's member equals the expected value or, without one, is true. */
const holds = ([path, expected]: ReadonlyArray<unknown>, run: Run): (element: unknown) => boolean => {
  const value = memberAt(path, run)
  return expected === undefined
    ? (element) => isTrue(value(element))
    : (element) => equals(value(element), expected, run)
}

/** An element with the key that it is sorted by. */
interface Keyed<A> {
  readonly element: unknown
  readonly key: A
}

/** Returns the numbers of the keys, which are also in texts. Undefined if a key is not a number. */
const numericKeys = (keyed: ReadonlyArray<Keyed<unknown>>, run: Run): ReadonlyArray<Keyed<Decimal>> | undefined => {
  const numeric: Array<Keyed<Decimal>> = []
  for (const { element, key } of keyed) {
    const number = plainDecimal(key)
    if (number === undefined) return undefined
    if (typeof key === "string") run.scan(key.length, 5)
    numeric.push({ element, key: number })
  }
  return numeric
}

/** Sorts by numbers if all keys are numbers. Otherwise 2, 10 and "1a" would have no order. Nothing sorts last. */
const sorted = (
  parts: ReadonlyArray<unknown>,
  keyOf: (element: unknown) => unknown,
  run: Run,
): ReadonlyArray<unknown> => {
  const all = parts.map((element) => ({ element, key: keyOf(element) }))
  const keyed = all.filter(({ key }) => !isNothing(key))
  const numeric = numericKeys(keyed, run)
  const inOrder: ReadonlyArray<Keyed<unknown>> = numeric === undefined
    ? keyed.sort((left, right) => order(left.key, right.key, run) || 0)
    : numeric.toSorted((left, right) => {
      run.spend(1)
      return Decimals.compare(left.key, right.key)
    })
  return [...inOrder, ...all.filter(({ key }) => isNothing(key))].map(({ element }) => element)
}

const first = (text: string): string => Array.from(text.slice(0, 2))[0] ?? ""
const last = (text: string): string => Array.from(text.slice(-2)).at(-1) ?? ""

/**
 * Charges a look-up in a `SeededMap`: the whole text is hashed, and beyond 512 characters each character costs 40 ns.
 */
const chargeHash = (key: unknown, run: Run): void => {
  if (typeof key !== "string") return run.spend(1)
  if (key.length <= 512) return run.scan(key.length)
  run.spend(200)
  run.scan(key.length, 2)
}

/** Elements by the value of a key, in the order of the keys' first occurrences. */
const grouped = (
  parts: ReadonlyArray<unknown>,
  keyOf: (element: unknown) => unknown,
  run: Run,
): ReadonlyArray<{ readonly name: unknown; readonly items: Array<unknown> }> => {
  const groups: Array<{ readonly name: unknown; readonly items: Array<unknown> }> = []
  const scalars = new SeededMap<string | number, Array<unknown>>()
  const others = new Map<unknown, Array<unknown>>()
  for (const element of parts) {
    const name = keyOf(element)
    chargeHash(name, run)
    const isScalar = typeof name === "string" || typeof name === "number"
    const items = isScalar ? scalars.get(name) : others.get(name)
    if (items !== undefined) {
      items.push(element)
      continue
    }
    const group = { name, items: [element] }
    groups.push(group)
    if (isScalar) scalars.set(name, group.items)
    else others.set(name, group.items)
  }
  return groups
}

/** The filters of lists. */
export const listFilters: Record<string, FilterEntry> = {
  first: {
    needs: 0,
    apply: (input) => Array.isArray(input) ? input[0] : typeof input === "string" ? first(input) : "",
  },
  last: {
    needs: 0,
    apply: (input) => Array.isArray(input) ? input.at(-1) : typeof input === "string" ? last(input) : "",
  },
  reverse: onList(0, (parts) => parts.toReversed()),
  compact: byMember((parts, [path], run) => {
    const value = memberAt(path, run)
    return parts.filter((element) => !isNothing(value(element)))
  }),
  uniq: byMember((parts, [path], run) => grouped(parts, memberAt(path, run), run).map(({ items }) => items[0])),
  map: onList(1, (parts, [path], run) => parts.map(memberAt(path, run))),
  /**
   * Sorts by text, or by number if all of the elements are numbers or their texts. Elements without the member come
   * last, and elements that cannot be compared keep their places.
   */
  sort: byMember((parts, [path], run) => sorted(parts, memberAt(path, run), run)),
  sort_natural: byMember((parts, [path], run) => {
    const value = memberAt(path, run)
    return sorted(parts, (element) => {
      const key = value(element)
      if (isNothing(key)) return key
      const name = text(key, run)
      run.scan(name.length, 2)
      return name.toLowerCase()
    }, run)
  }),
  concat: onList(1, (parts, [more], run) => [...parts, ...list(more, run)]),
  push: onList(1, (parts, [element]) => [...parts, element]),
  unshift: onList(1, (parts, [element]) => [element, ...parts]),
  pop: onList(0, (parts) => parts.slice(0, -1)),
  shift: onList(0, (parts) => parts.slice(1)),
  where: testing((parts, args, run) => parts.filter(holds(args, run))),
  reject: testing((parts, args, run) => {
    const holding = holds(args, run)
    return parts.filter((element) => !holding(element))
  }),
  find: testing((parts, args, run) => parts.find(holds(args, run))),
  find_index: testing((parts, args, run) => {
    const index = parts.findIndex(holds(args, run))
    return index === -1 ? undefined : index
  }),
  has: testing((parts, args, run) => parts.some(holds(args, run))),
  group_by: {
    needs: 1,
    apply: (input, [path], run) => {
      const value = memberAt(path, run)
      const parts = elements(input, run)
      run.spend(parts.length)
      return grouped(parts, value, run)
    },
  },
}
