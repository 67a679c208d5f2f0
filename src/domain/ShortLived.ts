// Collections of short-lived items, such as open requests. A `Set` or `Map` allocates a new table after enough
// additions and removals, and V8 links each table to the next one. Once the first table is in the old generation, all
// later tables and their items survive until the next full collection: about 8 kB for each Generate request (measured).

/** An item of a `SlotSet`. */
export interface Slotted {
  /** Position in the set, maintained by the set. -1 or undefined: not in a set. */
  slot?: number
}

/** An unordered set. An item can be in one such set at a time. Adding and removing allocate no memory. */
export class SlotSet<A extends Slotted> {
  readonly #items: Array<A> = []

  get size(): number {
    return this.#items.length
  }

  /** Adds an item, which must not be in a set. */
  add(item: A): void {
    item.slot = this.#items.push(item) - 1
  }

  /** Removes an item. Returns false if the item is not in the set. */
  delete(item: A): boolean {
    const { slot = -1 } = item
    if (slot === -1) return false
    item.slot = -1
    const last = this.#items.pop()!
    if (last !== item) {
      last.slot = slot
      this.#items[slot] = last
    }
    return true
  }

  /** Returns a copy of the items. */
  values(): ReadonlyArray<A> {
    return [...this.#items]
  }
}

/** A `ShortLivedMap` allocates a new map only after this many removals. */
const leastRemoved = 64

/** A map of short-lived entries. Allocates a new map whenever the number of removals exceeds the number of entries. */
export class ShortLivedMap<K, V> {
  #map = new Map<K, V>()
  #removed = 0

  get size(): number {
    return this.#map.size
  }

  get(key: K): V | undefined {
    return this.#map.get(key)
  }

  set(key: K, value: V): void {
    this.#map.set(key, value)
  }

  /** Removes an entry. Returns false if the key has no entry. */
  delete(key: K): boolean {
    if (!this.#map.delete(key)) return false
    if (++this.#removed > Math.max(leastRemoved, this.#map.size)) {
      this.#map = new Map(this.#map)
      this.#removed = 0
    }
    return true
  }
}
