import { SeededMap } from "./SeededMap.ts"

/**
 * Values by key. Removes the least recently used values while the sum of weights exceeds `maxWeight`. Unlike Effect's
 * `Cache`, it is synchronous and safe with keys that callers choose: see `docs/decisions/0060-parts-of-effect.md`.
 */
export class LruMap<V> {
  readonly #entries = new SeededMap<string, { readonly value: V; readonly weight: number }>()
  #weight = 0

  constructor(readonly maxWeight: number) {}

  get(key: string): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    // Inserts the entry again: iteration is in the order of insertion, so the least recently used entry comes first.
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
