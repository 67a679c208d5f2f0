// Defines what Node.js 20 lacks of the standard library of Deno. Newer versions are unchanged.

const define = (target: object, name: string, value: unknown): void => {
  if (!(name in target)) Object.defineProperty(target, name, { value, writable: true, configurable: true })
}

define(Map, "groupBy", <Key, Value>(values: Iterable<Value>, keyOf: (value: Value, index: number) => Key) => {
  const groups = new Map<Key, Array<Value>>()
  let index = 0
  for (const value of values) {
    const key = keyOf(value, index++)
    groups.set(key, [...groups.get(key) ?? [], value])
  }
  return groups
})

const iterators = Object.getPrototypeOf(Object.getPrototypeOf([].values()))

define(iterators, "toArray", function (this: Iterable<unknown>) {
  return [...this]
})

type Method = (this: ReadonlyArray<unknown>, ...args: Array<unknown>) => unknown

for (const name of ["every", "filter", "find", "flatMap", "forEach", "map", "reduce", "some"] as const) {
  define(iterators, name, function (this: Iterable<unknown>, ...args: ReadonlyArray<unknown>) {
    const result = ([...this][name] as Method).apply([...this], [...args])
    return Array.isArray(result) && name !== "find" && name !== "reduce" ? result.values() : result
  })
}
