/** Somebody in a line; `item` is undefined once it left. */
interface Place<A> {
  item: A | undefined
  readonly since: number
}

/** A line in which whoever came first is next, and anybody may leave at any time. */
export class Line<A> {
  /** How many stand in it. */
  size = 0
  /** By their time of arrival, from `#first` on; the places of those who left are empty. */
  #places: Array<Place<A>> = []
  #first = 0

  /** Lets it stand in line from `now` on. What is answered lets it leave, and says whether it was still there. */
  enter(item: A, now: number): () => boolean {
    const place: Place<A> = { item, since: now }
    this.#places.push(place)
    this.size++
    return () => this.#leave(place) !== undefined
  }

  /** Everybody in the line, in the order of arrival. */
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

  /** Who came first, if that was at `until` or before; undefined if nobody is left who did. */
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
