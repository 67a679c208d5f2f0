/** Amounts summed by key, such as outcomes by template, day and variant. */
export class Sums<Key extends object, Name extends string> {
  readonly #names: ReadonlyArray<Name>
  readonly #rows = new Map<string, { readonly key: Key; readonly amounts: Record<Name, number> }>()

  /** `names` are the names of the amounts. */
  constructor(names: ReadonlyArray<Name>) {
    this.#names = names
  }

  /** Adds amounts to the sums of a key. The members of all keys have one order. Absent amounts are 0. */
  add(key: Key, amounts: { readonly [name in Name]?: number | undefined }): void {
    const row = this.#rows.getOrInsertComputed(Object.values(key).join("\0"), () => ({
      key,
      amounts: Object.fromEntries(this.#names.map((name) => [name, 0])) as Record<Name, number>,
    }))
    for (const name of this.#names) row.amounts[name] += amounts[name] ?? 0
  }

  /** Returns one row for each key, in the order of their first amounts. */
  rows(): ReadonlyArray<Key & Readonly<Record<Name, number>>> {
    return Array.from(this.#rows.values(), ({ amounts, key }) => ({ ...key, ...amounts }))
  }
}
