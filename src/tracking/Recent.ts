/** Values by key, of which the least recently used go once all together weigh too much. */
export class Recent<V> {
  readonly #values = new Map<string, { readonly value: V; readonly weight: number }>()
  #weight = 0

  constructor(readonly maxWeight: number) {}

  get(key: string): V | undefined {
    const entry = this.#values.get(key)
    if (entry === undefined) return undefined
    this.#values.delete(key)
    this.#values.set(key, entry)
    return entry.value
  }

  set(key: string, value: V, weight = 1): void {
    this.#delete(key)
    this.#values.set(key, { value, weight })
    this.#weight += weight
    for (const [oldest] of this.#values) {
      if (this.#weight <= this.maxWeight) return
      this.#delete(oldest)
    }
  }

  get size(): number {
    return this.#values.size
  }

  #delete(key: string): void {
    const entry = this.#values.get(key)
    if (entry === undefined) return
    this.#values.delete(key)
    this.#weight -= entry.weight
  }
}
