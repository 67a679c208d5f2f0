// Collections of things that come and go with requests. A `Set` or `Map` makes a larger table when entries were added and removed
// often enough, and V8 links each table to the next one. Once a first table is in the old generation, all later ones, and
// what was in them, survive until the next full collection: about 8 kB for each Generate request (measured).

/** An item of a `SlotSet`. */
export interface Slotted {
  /** Place in the set, for the set alone. -1 or undefined: not in it. */
  slot?: number
}

/** A set without order, of items that are in one such set at most. Adding and removing allocate nothing. */
export class SlotSet<A extends Slotted> {
  readonly #items: Array<A> = []

  get size(): number {
    return this.#items.length
  }

  /** Adds an item that is in no set. */
  add(item: A): void {
    item.slot = this.#items.push(item) - 1
  }

  /** Removes an item; false if it is not in the set. */
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

  /** The items. The array is a copy. */
  values(): ReadonlyArray<A> {
    return [...this.#items]
  }
}

/** Fewest removals after which a `ShortLivedMap` begins a new map. */
const leastRemoved = 64

/** A map whose entries are removed soon. Begins a new map after each as many removals as it has entries. */
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

  /** Removes an entry; false if there is none. */
  delete(key: K): boolean {
    if (!this.#map.delete(key)) return false
    if (++this.#removed > Math.max(leastRemoved, this.#map.size)) {
      this.#map = new Map(this.#map)
      this.#removed = 0
    }
    return true
  }
}
