/**
 * The requests that this node is answering, by id, so that each is answered once although several readings of the table
 * return it. A reading may return a request whose answer was stored while the reading was under way. So an answered
 * request is forgotten at the start of the next reading, which cannot return it. Readings must not overlap.
 */
export class RequestsUnderWay {
  readonly #ids = new Set<number>()
  readonly #answered = new Set<number>()

  /** Call before each reading of the table. */
  beginReading(): void {
    for (const id of this.#answered) this.#ids.delete(id)
    this.#answered.clear()
  }

  /** Returns whether the request is new, and remembers it. */
  add(id: number): boolean {
    if (this.#ids.has(id)) return false
    this.#ids.add(id)
    return true
  }

  /** Call when the answer to a request is stored, or could not be stored. */
  markAnswered(id: number): void {
    this.#answered.add(id)
  }
}
