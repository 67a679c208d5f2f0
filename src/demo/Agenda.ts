const minuteMillis = 60_000

/** Future events, removed minute by minute: events of past minutes are due. */
export class Agenda<A> {
  readonly #minutes = new Map<number, Array<A>>()
  #next: number
  #size = 0

  /** Requires that events are later than `start` (Unix milliseconds) and than the events already removed. */
  constructor(start: number) {
    this.#next = Math.floor(start / minuteMillis)
  }

  /** Number of future events. */
  get size(): number {
    return this.#size
  }

  put(time: number, item: A): void {
    const minute = Math.max(this.#next, Math.floor(time / minuteMillis))
    const items = this.#minutes.get(minute)
    if (items === undefined) this.#minutes.set(minute, [item])
    else items.push(item)
    this.#size++
  }

  /** Removes and returns all events before the minute of `now`. */
  take(now: number): ReadonlyArray<A> {
    const taken: Array<A> = []
    for (const end = Math.floor(now / minuteMillis); this.#next < end; this.#next++) {
      const items = this.#minutes.get(this.#next)
      if (items === undefined) continue
      this.#minutes.delete(this.#next)
      this.#size -= items.length
      for (const item of items) taken.push(item)
    }
    return taken
  }
}
