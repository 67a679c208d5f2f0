// `JSON.parse` takes half the time of `JsonParser.ts` for the bodies of most calls, but the strings that it enters into V8's
// table may collide. A short text has room for a few hundred strings, which are no harm until the table has thousands that
// collide, of many texts. Whether it has them is told by the time: a text that takes ten times as long as usual is parsed
// again. A collection of garbage or a busy processor slows some of the repeats, strings in the table slow all.

/** Longest text that is left to `JSON.parse`: a body of ten events. Unit: characters. */
const maxLength = 8_192

// Usual is 3 to 5 ns for a character, and 0.5 µs for a text.
const slowMillis = 0.05
const slowMillisPerCharacter = 0.000_02

// A slow text is parsed at least twice more, at most eight times, and no longer than this in all. Two times in a row were slow
// without collisions every few million texts.
const leastRepeats = 2
const mostRepeats = 8
const repeatedMillis = 2

/**
 * How long `JSON.parse` is not called once strings collide. They stay in the table until a full collection of garbage, and each
 * attempt adds hundreds.
 */
const pauseMillis = 24 * 60 * 60_000

/** Parses short texts with `JSON.parse`, as long as their strings do not collide. */
export class ShortJson {
  #pausedUntil = -Infinity

  /** `now`: of a clock that does not jump, in milliseconds. */
  constructor(
    private readonly now: () => number = () => performance.now(),
    private readonly native: (text: string) => unknown = JSON.parse,
  ) {}

  /** The value of a text; undefined for one that is too long, one that is no JSON, and for every text while strings collide. */
  parse(text: string): unknown {
    if (text.length > maxLength) return undefined
    const began = this.now()
    if (began < this.#pausedUntil) return undefined
    const value = this.#valueOf(text)
    const slow = slowMillis + text.length * slowMillisPerCharacter
    if (this.now() - began > slow && this.#isAlwaysSlow(text, slow)) this.#pausedUntil = this.now() + pauseMillis
    return value
  }

  #isAlwaysSlow(text: string, slow: number): boolean {
    const until = this.now() + repeatedMillis
    for (let repeat = 0; repeat < mostRepeats; repeat++) {
      const began = this.now()
      if (repeat >= leastRepeats && began > until) return true
      this.#valueOf(text)
      if (this.now() - began <= slow) return false
    }
    return true
  }

  #valueOf(text: string): unknown {
    try {
      return this.native(text)
    } catch {
      return undefined
    }
  }
}
