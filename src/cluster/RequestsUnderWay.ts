/**
 * The requests that this node is answering, by id, so that each is answered once although several reads of the table
 * return it. A read may return a request whose answer was stored during the read. Therefore an answered request is kept
 * until the start of the next read, which cannot return it. Reads must not overlap.
 */
export class RequestsUnderWay {
  readonly #ids = new Set<number>()
  readonly #answered = new Set<number>()

  /** Call this before each read of the table. */
  beginReading(): void {
    for (const id of this.#answered) this.#ids.delete(id)
    this.#answered.clear()
  }

  /** Adds a request. Returns whether it is new. */
  add(id: number): boolean {
    if (this.#ids.has(id)) return false
    this.#ids.add(id)
    return true
  }

  /** Call this after the answer to a request was stored, or could not be stored. */
  markAnswered(id: number): void {
    this.#answered.add(id)
  }
}
