import { AttemptWindows } from "./AttemptWindows.ts"

/** Maximum numbers of wrong admin tokens that a node compares within a window. */
export interface GuessLimits {
  /** Limit of one network, see `networkOf`. */
  readonly perNetwork: number
  /**
   * Limit of all networks together. Past it, a network with a wrong guess is refused at once, until its window ends.
   */
  readonly total: number
  readonly windowMillis: number
}

const everywhere = "everywhere"

/**
 * Limits guesses at the admin token, in the memory of one node. Only a wrong token counts, so a client with the right
 * token is never limited by its own requests. A network without a wrong guess is never refused, so strangers elsewhere
 * cannot lock an operator out.
 */
export class AdminGuesses {
  readonly #byNetwork: AttemptWindows
  readonly #total: AttemptWindows

  constructor(readonly limits: GuessLimits) {
    this.#byNetwork = new AttemptWindows(limits.windowMillis, 10_000)
    this.#total = new AttemptWindows(limits.windowMillis, 1)
  }

  /** Returns the whole seconds until a token from this network is compared again. Undefined if it is compared now. */
  waitSeconds(network: string, nowMillis: number): number | undefined {
    const own = this.#byNetwork.attempts(network, nowMillis)
    const isLimited = own >= this.limits.perNetwork ||
      (own > 0 && this.#total.attempts(everywhere, nowMillis) >= this.limits.total)
    if (!isLimited) return undefined
    return Math.max(1, Math.ceil(this.#byNetwork.remainingMillis(network, nowMillis) / 1000))
  }

  /** Counts a wrong token. Returns the seconds to wait if the limit of all networks together is exceeded. */
  countWrong(network: string, nowMillis: number): number | undefined {
    this.#byNetwork.add(network, 1, nowMillis)
    return this.#total.add(everywhere, 1, nowMillis) > this.limits.total
      ? this.waitSeconds(network, nowMillis)
      : undefined
  }
}
