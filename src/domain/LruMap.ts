import { SeededMap } from "./SeededMap.ts"

/**
 * Values by key, of which the least recently used go once all together weigh more than `maxWeight`. It is synchronous and
 * takes keys that callers choose, unlike Effect's `Cache`: see `docs/decisions/0060-parts-of-effect.md`.
 */
export class LruMap<V> {
  readonly #entries = new SeededMap<string, { readonly value: V; readonly weight: number }>()
  #weight = 0

  constructor(readonly maxWeight: number) {}

  get(key: string): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    // Iteration is in the order of insertion, so that the least recently used comes first.
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  set(key: string, value: V, weight = 1): void {
    this.delete(key)
    this.#entries.set(key, { value, weight })
    this.#weight += weight
    if (this.#weight <= this.maxWeight) return
    for (const oldest of this.#entries.keys()) {
      this.delete(oldest)
      if (this.#weight <= this.maxWeight) return
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#weight -= entry.weight
  }

  get size(): number {
    return this.#entries.size
  }
}
