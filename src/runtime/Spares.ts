/** What ended services leave for later services of this program, such as warm processes, by kind. */
export class Spares<A> {
  readonly #kept = new Map<string, Array<A>>()

  /** `most`: of each kind. */
  constructor(private readonly most: number) {}

  take(kind: string): A | undefined {
    return this.#kept.get(kind)?.pop()
  }

  /** Whether it is kept: false if there are enough of its kind. */
  keep(kind: string, spare: A): boolean {
    const kept = this.#kept.get(kind) ?? []
    if (kept.length >= this.most) return false
    this.#kept.set(kind, [...kept, spare])
    return true
  }
}
