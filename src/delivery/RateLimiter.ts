/** Minimum margin by which the estimated transit time is shorter than the fastest answer. Unit: milliseconds. */
const toleranceMillis = 1

/**
 * The transit time is estimated from the answers of the last two minutes, in spans of twenty seconds. The fastest
 * answers show the transit time without delays.
 */
const spans = 6
const spanMillis = 20_000

/**
 * Number of fastest answers that are kept. Even the fastest answer was delayed a little. Its distance to the twentieth
 * fastest answer estimates that delay. The distance shrinks with more answers, and is 0 if all answers take equally
 * long.
 */
const fastestKept = 20

/**
 * Minimum number of answers in two minutes. Fewer answers prove nothing, because messages sent together may all have
 * been delayed.
 */
const answersNeeded = (ceiling: number) => Math.max(40, 2 * ceiling)

/** Maximum number of token return times in a chunk, unless a time is inserted into a full chunk. */
const chunkSize = 64

/** The answers of one span: their number, and the times of the fastest answers, ascending. Unit: milliseconds. */
interface Span {
  readonly answers: number
  readonly fastest: ReadonlyArray<number>
}

/**
 * A message that was sent. Its token returns one second after the latest time at which the message can have arrived.
 */
export interface Departure {
  readonly startedAt: number
}

/**
 * The rate limiter of one lane. The platform counts the messages that arrive in each sliding second, and the ceiling
 * applies to that count. A message that is delayed in transit may arrive together with messages sent after it. A
 * message takes a token when it starts. The token returns one second after the latest time at which the message can
 * have arrived: the time of its answer, minus the shortest transit time of recent messages. So a platform that always
 * needs 200 ms does not reduce the rate, but a platform that stalls does. With too few answers, the transit time counts
 * as 0, and the rate stays slightly below the ceiling.
 *
 *     any second in which N messages arrive: when the last of them started, the others were in transit or had arrived
 *     less than a second before, hence held N - 1 tokens of `ceiling`.
 *
 * Messages are also spaced evenly at the current rate. Unit of all times: milliseconds of a monotonic clock.
 *
 * All fields hold immutable values, so `copyOf` needs no deep copy.
 */
export class RateLimiter {
  /** Current rate in messages per second, between 1 and the ceiling. */
  private rate: number
  private inFlight = 0
  /** The times at which tokens return, ascending, in chunks, so that a change copies only one chunk. */
  private returns: ReadonlyArray<ReadonlyArray<number>> = []
  private returning = 0
  /** The last span is the current one. */
  private spans: ReadonlyArray<Span> = []
  private spanEnds = -Infinity
  /** The estimated transit time of a message without delays. Unit: milliseconds. */
  private unhindered = 0
  /** The earliest time of the next message according to the even spacing. */
  private nextAt = -Infinity
  private raisedAt = -Infinity
  private slowedAt = -Infinity

  constructor(private readonly ceiling: number) {
    this.rate = ceiling
  }

  /** Returns when the next message may start; Infinity if that depends on an answer. */
  next(now: number): number {
    this.collect(now)
    const held = this.inFlight + this.returning
    const free = held < this.ceiling ? now : this.inFlight >= this.ceiling ? Infinity : this.returns[0]![0]!
    return Math.max(now, this.nextAt, free)
  }

  /** Starts a message. Call this at the time that `next` returned, or later. */
  start(now: number): Departure {
    this.inFlight++
    const spacing = 1000 / this.rate
    // If a timer fired late, allows a few messages to catch up, but no burst.
    const grace = Math.max(2 * spacing, 5)
    this.nextAt = Math.max(this.nextAt, now - grace) + spacing
    return { startedAt: now }
  }

  /** Records that a message was answered or given up. */
  end({ startedAt }: Departure, now: number): void {
    this.inFlight--
    this.observe(now - startedAt, now)
    this.giveBack(now - this.unhindered + 1000)
  }

  /** Returns the token of a message that was never sent. */
  forgo(): void {
    this.inFlight--
  }

  /**
   * Halves the rate after a platform's request to slow down. Ignores answers to messages that started before the last
   * such request.
   */
  slowDown({ startedAt }: Departure, now: number): void {
    if (startedAt < this.slowedAt) return
    this.slowedAt = now
    this.rate = Math.max(1, this.rate / 2)
  }

  /** Raises the rate after an acceptance. The rate reaches the ceiling within about twenty seconds. */
  speedUp(now: number): void {
    if (this.rate === this.ceiling || now - this.raisedAt < 1000) return
    this.raisedAt = now
    this.rate = Math.min(this.ceiling, this.rate + this.ceiling / 20)
  }

  /** The current rate. Unit: messages per second. */
  get perSecond(): number {
    return this.rate
  }

  private collect(now: number): void {
    let chunks = 0
    for (; chunks < this.returns.length && this.returns[chunks]!.at(-1)! <= now; chunks++) {
      this.returning -= this.returns[chunks]!.length
    }
    if (chunks > 0) this.returns = this.returns.slice(chunks)
    const first = this.returns[0]
    if (first === undefined || first[0]! > now) return
    const free = first.findIndex((at) => at > now)
    this.returning -= free
    this.returns = this.returns.with(0, first.slice(free))
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
    if (before === 0 && answers < answersNeeded(this.ceiling)) return
    const fastest = this.spans.flatMap((span) => span.fastest).sort((a, b) => a - b)
    const spread = fastest[Math.min(fastestKept, fastest.length) - 1]! - fastest[0]!
    this.unhindered = answers < answersNeeded(this.ceiling)
      ? 0
      : Math.max(0, fastest[0]! - Math.max(toleranceMillis, spread))
    if (this.unhindered >= before) return
    // The platform has become faster, so messages may have arrived later than assumed: delays the outstanding tokens.
    this.returns = this.returns.map((chunk) => chunk.map((at) => at + before - this.unhindered))
  }

  /** Answers arrive nearly in order, so the search starts at the end. */
  private giveBack(at: number): void {
    this.returning++
    const last = this.returns.at(-1)
    if (last === undefined || (last.length >= chunkSize && last.at(-1)! <= at)) {
      this.returns = [...this.returns, [at]]
      return
    }
    let place = this.returns.length - 1
    while (place > 0 && this.returns[place]![0]! > at) place--
    const chunk = this.returns[place]!
    let within = chunk.length
    while (within > 0 && chunk[within - 1]! > at) within--
    this.returns = this.returns.with(place, chunk.toSpliced(within, 0, at))
  }
}

/** Inserts a time into the fastest times, ascending. */
const insert = (fastest: ReadonlyArray<number>, took: number): ReadonlyArray<number> => {
  let place = fastest.length
  while (place > 0 && fastest[place - 1]! > took) place--
  return fastest.toSpliced(place, 0, took).slice(0, fastestKept)
}
