/** A waiting item; `item` is undefined once it has left the queue. */
interface Place<A> {
  item: A | undefined
  readonly since: number
}

/** A first-in, first-out queue whose items can leave at any time. */
export class Line<A> {
  /** How many stand in it. */
  size = 0
  /** In order of arrival, from `#first` on. Items that left are empty places. */
  #places: Array<Place<A>> = []
  #first = 0

  /**
   * Adds an item at the time `now`. Returns a function that removes the item and reports whether it was still waiting.
   */
  enter(item: A, now: number): () => boolean {
    const place: Place<A> = { item, since: now }
    this.#places.push(place)
    this.size++
    return () => this.#leave(place) !== undefined
  }

  /** All waiting items in order of arrival. */
  *[Symbol.iterator](): Iterator<A> {
    for (const { item } of this.#places) if (item !== undefined) yield item
  }

  #leave(place: Place<A>): A | undefined {
    const { item } = place
    if (item === undefined) return undefined
    place.item = undefined
    this.size--
    return item
  }

  /** The first item, if it arrived at `until` or earlier; otherwise undefined. */
  next(until = Infinity): A | undefined {
    while (this.#first < this.#places.length && this.#places[this.#first]!.item === undefined) this.#first++
    // Empty places are given up once they are the most of all, as moving the others takes its time.
    if (this.#first * 2 > this.#places.length) {
      this.#places.splice(0, this.#first)
      this.#first = 0
    }
    const place = this.#places[this.#first]
    return place !== undefined && place.since <= until ? this.#leave(place) : undefined
  }
}
