/**
 * Idle resources by kind, such as worker processes, that an ended service leaves to the next service of this process.
 */
export class Spares<A> {
  readonly #kept = new Map<string, Array<A>>()

  /** `most`: the maximum number of spares of each kind. */
  constructor(private readonly most: number) {}

  take(kind: string): A | undefined {
    return this.#kept.get(kind)?.pop()
  }

  /** Keeps `spare` for a later `take`. Returns false if there are already `most` of its kind. */
  keep(kind: string, spare: A): boolean {
    const kept = this.#kept.get(kind) ?? []
    if (kept.length >= this.most) return false
    this.#kept.set(kind, [...kept, spare])
    return true
  }
}
