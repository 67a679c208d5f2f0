/** Milliseconds that a message may arrive earlier than the fastest answers suggest, at least. */
const toleranceMillis = 1

/** The fastest answers of the last two minutes, in spans of twenty seconds, tell what a message needs when nothing is in its way. */
const spans = 6
const spanMillis = 20_000

/**
 * The fastest answer was hindered a little, too: by how much is judged by the distance to the fastest but nineteen, which
 * shrinks as answers come in (and is none where all take the same time).
 */
const fastestKept = 20

/** Fewer answers in these two minutes tell nothing: those that set out together may all have dawdled. */
const answersNeeded = (ceiling: number) => Math.max(40, 2 * ceiling)

/** Answers of one span: how many, and the fastest of them, ascending. Unit: milliseconds. */
interface Span {
  readonly answers: number
  readonly fastest: ReadonlyArray<number>
}

/** A message that has left; its token comes back a second after it may have arrived at the latest. */
export interface Departure {
  readonly startedAt: number
}

/**
 * When messages of one lane may leave. The ceiling holds over every sliding second as the platform sees it, not as we do:
 * a message that dawdles on the way may arrive together with those sent after it. So a token is taken when a message
 * starts, and comes back one second after the latest moment it can have arrived, which is when its answer came, less what
 * a message needs at least, judged by the fastest of recent answers (a platform that always takes 200 ms costs no rate, one
 * that stalls does; while there are too few answers to judge by, nothing is taken off, and the ceiling is not quite reached):
 *
 *     any second in which N messages arrive: when the last of them started, the others were under way or had arrived less
 *     than a second before, hence held N - 1 tokens of `ceiling`.
 *
 * On top of that, messages are spaced evenly at the present rate. Unit of all times: milliseconds of a clock that does not
 * jump.
 *
 * Its fields hold immutable values, so that `copyOf` copies it.
 */
export class Pace {
  /** Messages per second now, between 1 and the ceiling. */
  private rate: number
  private inFlight = 0
  /** When tokens come back, ascending. */
  private returns: ReadonlyArray<number> = []
  /** The present one last. */
  private spans: ReadonlyArray<Span> = []
  private spanEnds = -Infinity
  /** What a message needs at least. Unit: milliseconds. */
  private unhindered = 0
  /** When the next one is due if they are spaced evenly. */
  private nextAt = -Infinity
  private raisedAt = -Infinity
  private slowedAt = -Infinity

  constructor(private readonly ceiling: number) {
    this.rate = ceiling
  }

  /** When the next message may start; Infinity while that depends on an answer. */
  next(now: number): number {
    this.collect(now)
    const held = this.inFlight + this.returns.length
    const free = held < this.ceiling ? now : this.inFlight >= this.ceiling ? Infinity : this.returns[0]!
    return Math.max(now, this.nextAt, free)
  }

  /** To be called when `next` says so. */
  start(now: number): Departure {
    this.inFlight++
    const spacing = 1000 / this.rate
    // A timer that fires late may be made up for by a few messages, never by a burst.
    const grace = Math.max(2 * spacing, 5)
    this.nextAt = Math.max(this.nextAt, now - grace) + spacing
    return { startedAt: now }
  }

  /** The answer to a message came, or it was given up. */
  end({ startedAt }: Departure, now: number): void {
    this.inFlight--
    this.observe(now - startedAt, now)
    this.giveBack(now - this.unhindered + 1000)
  }

  /** The message did not set out after all. */
  forgo(): void {
    this.inFlight--
  }

  /** The platform wants less, as its answer to a message says; what left before it last said so says nothing new. */
  slowDown({ startedAt }: Departure, now: number): void {
    if (startedAt < this.slowedAt) return
    this.slowedAt = now
    this.rate = Math.max(1, this.rate / 2)
  }

  /** The platform took one: back to the ceiling within about twenty seconds. */
  speedUp(now: number): void {
    if (this.rate === this.ceiling || now - this.raisedAt < 1000) return
    this.raisedAt = now
    this.rate = Math.min(this.ceiling, this.rate + this.ceiling / 20)
  }

  /** Messages per second at which they leave now, if there are enough. */
  get perSecond(): number {
    return this.rate
  }

  private collect(now: number): void {
    let free = 0
    while (free < this.returns.length && this.returns[free]! <= now) free++
    if (free > 0) this.returns = this.returns.slice(free)
  }

  private observe(took: number, now: number): void {
    if (now >= this.spanEnds) {
      this.spanEnds = now + spanMillis
      this.spans = [...this.spans.slice(1 - spans), { answers: 0, fastest: [] }]
    }
    const { answers, fastest } = this.spans.at(-1)!
    const isFast = fastest.length < fastestKept || took < fastest.at(-1)!
    this.spans = this.spans.with(-1, { answers: answers + 1, fastest: isFast ? insert(fastest, took) : fastest })
    if (isFast || answers === 0 || this.unhindered === 0) this.judge()
  }

  private judge(): void {
    const before = this.unhindered
    const answers = this.spans.reduce((sum, span) => sum + span.answers, 0)
    const fastest = this.spans.flatMap((span) => span.fastest).sort((a, b) => a - b)
    const spread = fastest[Math.min(fastestKept, fastest.length) - 1]! - fastest[0]!
    this.unhindered = answers < answersNeeded(this.ceiling)
      ? 0
      : Math.max(0, fastest[0]! - Math.max(toleranceMillis, spread))
    if (this.unhindered >= before) return
    // The platform has become faster: what was taken off the tokens that are still out was too much.
    this.returns = this.returns.map((at) => at + before - this.unhindered)
  }

  /** Answers come nearly in order, so that a place is found from the end at once. */
  private giveBack(at: number): void {
    let place = this.returns.length
    while (place > 0 && this.returns[place - 1]! > at) place--
    this.returns = this.returns.toSpliced(place, 0, at)
  }
}

/** Inserts a time into the fastest ones, ascending. */
const insert = (fastest: ReadonlyArray<number>, took: number): ReadonlyArray<number> => {
  let place = fastest.length
  while (place > 0 && fastest[place - 1]! > took) place--
  return fastest.toSpliced(place, 0, took).slice(0, fastestKept)
}
