import process from "node:process"

// `JSON.parse` takes half the time of `JsonParser.ts` for the bodies of most calls, but the strings that it enters into V8's
// table may collide. A short text has room for a few hundred strings, which are no harm until the table has thousands that
// collide, of many texts. Whether it has them is told by the time. A text that takes much longer than usual is parsed again,
// and then the time of the processor is measured: a busy processor or a collection of garbage does not slow all repeats.

/** Longest text that is left to `JSON.parse`: a body of ten events. Unit: characters. */
const maxLength = 8_192

// Usual is 3 to 5 ns for a character, and 45 for one of names that V8 has not seen in this order.
const slowMillis = 0.1
const slowMillisPerCharacter = 0.000_1

// A slow text is parsed at least twice more, at most eight times, and no longer than this in all.
const leastRepeats = 2
const mostRepeats = 8
const repeatedMillis = 2

/** How long `JSON.parse` is not called once strings collide. A full collection of garbage takes them out of the table. */
const pauseMillis = 60 * 60_000

const processorMillis = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1000
}

interface Clocks {
  /** Of a clock that does not jump, in milliseconds. */
  readonly now: () => number
  /** Processor time of this process, in milliseconds. */
  readonly processor: () => number
}

/** Parses short texts with `JSON.parse`, as long as their strings do not collide. */
export class ShortJson {
  #pausedUntil = -Infinity

  constructor(
    private readonly clocks: Clocks = { now: () => performance.now(), processor: processorMillis },
    private readonly native: (text: string) => unknown = JSON.parse,
  ) {}

  /** The value of a text; undefined for one that is too long, one that is no JSON, and for every text while strings collide. */
  parse(text: string): unknown {
    if (text.length > maxLength) return undefined
    const { now } = this.clocks
    const began = now()
    if (began < this.#pausedUntil) return undefined
    const value = this.#valueOf(text)
    const slow = slowMillis + text.length * slowMillisPerCharacter
    if (now() - began > slow && this.#isAlwaysSlow(text, slow)) this.#pausedUntil = now() + pauseMillis
    return value
  }

  #isAlwaysSlow(text: string, slow: number): boolean {
    const { processor } = this.clocks
    let begun = processor()
    const until = begun + repeatedMillis
    for (let repeat = 1; repeat <= mostRepeats; repeat++) {
      this.#valueOf(text)
      const ended = processor()
      if (ended - begun <= slow) return false
      if (repeat >= leastRepeats && ended > until) return true
      begun = ended
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
