// `JSON.parse` takes half the time of `JsonParser.ts` for the bodies of most calls, but the strings that it enters into V8's
// table may collide. A short text has room for a few hundred strings, which are no harm until the table has thousands that
// collide, of many texts. Whether it has them is told by the time: a text that takes ten times as long as usual is parsed
// again. A collection of garbage or a busy processor slows some of the repeats, strings in the table slow all.

/** Longest text that is left to `JSON.parse`: a body of ten events. Unit: characters. */
const maxLength = 8_192

// Usual is 3 to 5 ns for a character, and 0.5 µs for a text.
const slowMillis = 0.05
const slowMillisPerCharacter = 0.000_02

/** How often a slow text is parsed again. Two times in a row were slow without collisions every few million texts. */
const repeats = 8

/** How long `JSON.parse` is not called once strings collide: the next full collection of garbage takes them out of the table. */
const pauseMillis = 60_000

/** Parses short texts with `JSON.parse`, as long as their strings do not collide. */
export class ShortJson {
  #pausedUntil = 0

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** The value of a text; undefined for one that is too long, one that is no JSON, and for every text while strings collide. */
  parse(text: string): unknown {
    if (text.length > maxLength) return undefined
    const began = this.now()
    if (began < this.#pausedUntil) return undefined
    const value = valueOf(text)
    const slow = slowMillis + text.length * slowMillisPerCharacter
    if (this.now() - began > slow && this.#isAlwaysSlow(text, slow)) this.#pausedUntil = this.now() + pauseMillis
    return value
  }

  #isAlwaysSlow(text: string, slow: number): boolean {
    for (let repeat = 0; repeat < repeats; repeat++) {
      const began = this.now()
      valueOf(text)
      if (this.now() - began <= slow) return false
    }
    return true
  }
}

const valueOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
