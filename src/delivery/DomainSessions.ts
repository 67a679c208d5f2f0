import type { DomainLimits, SendResult } from "./Connection.ts"
import { Duration } from "effect"
import { DomainBreaker } from "./DomainBreaker.ts"

/** An attempt is slow after this long, or after five times as long as an answer typically takes. Unit: milliseconds. */
const slowMillis = 1_000
const slowFactor = 5

/** Answers that tell how long one typically takes. */
const answersKept = 31

/** Between two searches of the queue for one message of a held domain. Unit: milliseconds. */
const askEvery = 20

/** Between two searches of the queue while claimed messages wait for their turn. Unit: milliseconds. */
const refillEvery = 100

/** Between two searches for transactional messages while others wait for a session. Unit: milliseconds. */
const transactionalEvery = 400

/** Between two searches for other domains while one uses more than its share; doubles while there are none. Unit: milliseconds. */
const lookEvery = 500
const longestLook = 8_000

/** For how long claims need not look at messages that were passed over. Unit: milliseconds. */
const passedMillis = 10_000

/** How much earlier than the first message that was claimed another may turn up: its transaction ended later. Unit: milliseconds. */
const lateMillis = 1_000

/** Domains in good health that are remembered. */
const domainsKept = 10_000

/** A claimed message. */
export interface Waiting {
  readonly id: string
  /** The domain of the recipient in the form in which domains are compared; "" if unknown: then no rule applies. */
  readonly domain: string
  readonly isTransactional: boolean
  /** Unix milliseconds. */
  readonly dueAt: number
}

/** A message under way. */
export interface Flight {
  readonly domain: string
  readonly startedAt: number
  /** Asks the attempt to end if no part of the message has been sent. */
  readonly giveUp: () => void
}

/** Which messages to claim next. */
export interface ClaimChoice {
  /** Messages to this recipient domain only. */
  readonly only?: string
  /** No messages to these recipient domains. */
  readonly without?: ReadonlyArray<string>
  /** Transactional messages only. */
  readonly isTransactional?: boolean
  /** Bulk messages that are due at this time or later. Unix milliseconds. */
  readonly dueFrom?: number
}

interface Domain {
  readonly breaker: DomainBreaker
  flights: number
  /** Messages that wait here. */
  waiting: number
  /** It has answered an attempt. */
  isKnown: boolean
  /** Its last answer was slow, or an attempt under way is. */
  isSlow: boolean
  /** When the next message may leave at the domain's own rate. */
  nextAt: number
}

/**
 * Shares the sessions of a connection among recipient domains. Transactional messages go before bulk messages, and messages of
 * a kind in the order in which they are due, but for these rules:
 *
 * - A domain uses at most its share of the sessions while messages to other domains wait.
 * - A domain that has not answered yet uses one session.
 * - Slow domains use one session each, and all of them together at most the share, so that others always find a session.
 *   When more sessions are slow, the youngest of these attempts are given up.
 * - A domain with an open breaker uses one session, and only while nothing else waits, or for a probe.
 *
 * Messages of slow domains and of those with an open breaker stay in the queue (`held`), so that they do not fill the buffer
 * of the lane. It asks for one of them when it may leave. Times are milliseconds of a clock that does not jump.
 */
export class DomainSessions<M extends Waiting> {
  private readonly domains = new Map<string, Domain>()
  private waiting: Array<M> = []
  private readonly flights = new Set<Flight>()
  /** Domains whose messages stay in the queue, the one that was asked for longest ago first. */
  private readonly held = new Set<string>()
  private readonly answers: Array<number> = []
  private typicalMillis = 0
  private askedAt = -Infinity
  private transactionalAt = -Infinity
  private lookedAt = -Infinity
  private lookMillis = lookEvery
  /** Messages due earlier are to domains that the last claim passed over. */
  private passed: { readonly dueFrom: number; readonly without: ReadonlyArray<string>; readonly at: number } | undefined

  constructor(private readonly sessions: number, private readonly limits: DomainLimits | undefined) {}

  get waitingCount(): number {
    return this.waiting.length
  }

  /** Which messages to claim now; undefined while there are enough. With `isIdle`, nothing else can leave. */
  wants(now: number, limit: number, isIdle = false): ClaimChoice | undefined {
    const asked = now - this.askedAt < askEvery ? undefined : this.heldToAsk(now, isIdle)
    if (asked !== undefined) {
      this.askedAt = now
      return { only: asked }
    }
    if (isIdle || this.waiting.length >= 4 * limit) return undefined
    const next = this.pick(now)
    const lookAfter = this.waiting.length === 0 ? 0 : next === undefined ? refillEvery : this.lookMillis
    if ((next === undefined || this.isOverShare(next, now)) && now - this.lookedAt >= lookAfter) {
      this.lookedAt = now
      this.transactionalAt = now
      return this.pastHeld(now)
    }
    if (next === undefined || next.isTransactional || now - this.transactionalAt < transactionalEvery) return undefined
    this.transactionalAt = now
    return { without: this.excluded(), isTransactional: true }
  }

  /** Takes claimed messages. Returns those that have to go back into the queue. */
  add(messages: ReadonlyArray<M>, choice: ClaimChoice, now: number): ReadonlyArray<M> {
    if (choice.only !== undefined) {
      this.held.delete(choice.only)
      // With no message due, the next one is found by an ordinary claim.
      if (messages.length > 0) this.held.add(choice.only)
    } else if (choice.isTransactional !== true) {
      this.lookMillis = messages.length > 0 ? lookEvery : Math.min(longestLook, 2 * this.lookMillis)
      this.pass(messages, choice, now)
    }
    const back: Array<M> = []
    for (const message of messages) {
      const domain = this.domainOf(message.domain)
      const isKept = !this.isHeld(domain, now) || this.mayAsk(domain, now, choice.only !== undefined)
      if (!isKept) {
        this.held.add(message.domain)
        back.push(message)
        continue
      }
      domain.waiting++
      this.waiting.push(message)
    }
    this.waiting.sort((a, b) =>
      Number(b.isTransactional) - Number(a.isTransactional) || a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1)
    )
    return back
  }

  /** The message that may leave now; undefined while there is none. */
  pick(now: number): M | undefined {
    let overShare: M | undefined
    let passed: string | undefined
    for (const message of this.waiting) {
      // Neighbours in a campaign mostly have the same domain.
      if (message.domain === passed) continue
      passed = message.domain
      const fit = this.fitOf(this.domainOf(message.domain), message.domain, now)
      if (fit === "yes") return message
      if (fit === "over-share") overShare ??= message
    }
    return overShare
  }

  /** When a message that waits for its domain's own rate may leave; Infinity if none does. */
  nextAt(now: number): number {
    return this.waiting.reduce((least, { domain }) => {
      const at = this.domainOf(domain).nextAt
      return at > now ? Math.min(least, at) : least
    }, Infinity)
  }

  /** A picked message sets out. */
  start(message: M, now: number, giveUp: () => void): Flight {
    const place = this.waiting.indexOf(message)
    if (place >= 0) this.waiting.splice(place, 1)
    const domain = this.domainOf(message.domain)
    domain.waiting--
    domain.flights++
    const rate = this.limits?.perSecond
    if (rate !== undefined) domain.nextAt = Math.max(domain.nextAt, now - 1_000 / rate) + 1_000 / rate
    const flight = { domain: message.domain, startedAt: now, giveUp }
    this.flights.add(flight)
    return flight
  }

  /** An attempt has ended; `result` is undefined if the platform was not asked. */
  end(flight: Flight, result: SendResult | undefined, now: number): void {
    this.flights.delete(flight)
    const domain = this.domainOf(flight.domain)
    domain.flights--
    if (result === undefined || result._tag === "unfit" || result._tag === "yielded") return
    this.observe(domain, flight, result, now)
    if (!this.isHeld(domain, now)) this.held.delete(flight.domain)
    this.forget()
  }

  /** Looks for slow attempts. Returns messages that have to go back into the queue, and asks attempts to give up. */
  review(now: number): ReadonlyArray<M> {
    const slow: Array<Flight> = []
    for (const flight of this.flights) {
      const domain = this.domainOf(flight.domain)
      if (this.limits !== undefined && now - flight.startedAt > this.slowAfter) domain.isSlow = true
      if (domain.isSlow) slow.push(flight)
    }
    const back = this.waiting.filter(({ domain: name }) => {
      const domain = this.domainOf(name)
      if (!this.isHeld(domain, now)) return false
      this.held.add(name)
      return domain.waiting > 1 || domain.flights > 0 || domain.breaker.isPaused(now)
    })
    this.remove(back)
    if (this.flights.size >= this.sessions && this.pick(now) !== undefined) {
      slow.sort((a, b) => a.startedAt - b.startedAt).slice(this.slowSessions).forEach((flight) => flight.giveUp())
    }
    return back
  }

  /** All sessions are taken, and more of them are slow than may be. */
  isCrowded(): boolean {
    return this.flights.size >= this.sessions && this.slowFlights() > this.slowSessions
  }

  /** Removes and returns all messages that wait. */
  drain(): ReadonlyArray<M> {
    const all = this.waiting
    this.passed = undefined
    this.remove(all)
    return all
  }

  /** Domains whose messages stay in the queue. */
  get heldDomains(): ReadonlyArray<string> {
    return [...this.held]
  }

  private domainOf(name: string): Domain {
    let domain = this.domains.get(name)
    if (domain === undefined) {
      domain = {
        breaker: new DomainBreaker(),
        flights: 0,
        waiting: 0,
        isKnown: false,
        isSlow: false,
        nextAt: -Infinity,
      }
      this.domains.set(name, domain)
    }
    return domain
  }

  private get slowAfter(): number {
    return Math.max(slowMillis, slowFactor * this.typicalMillis)
  }

  /** Sessions of one domain while messages to others wait. */
  private get share(): number {
    return Math.max(1, Math.floor(this.sessions * (this.limits?.share ?? 1)))
  }

  /** Sessions of all slow domains together. */
  private get slowSessions(): number {
    return Math.min(this.share, this.sessions - 1)
  }

  private slowFlights(): number {
    let count = 0
    for (const { domain } of this.flights) if (this.domainOf(domain).isSlow) count++
    return count
  }

  /** Messages of the domain leave one by one, on request. */
  private isHeld({ breaker, isSlow }: Domain, now: number): boolean {
    return breaker.isOpen || breaker.isPaused(now) || isSlow
  }

  /** Whether a message of a held domain may be claimed to leave. */
  private mayAsk({ breaker, flights, isSlow, waiting }: Domain, now: number, isIdle: boolean): boolean {
    if (waiting > 0 || flights > 0 || breaker.isPaused(now)) return false
    if (breaker.isOpen && now < breaker.probeAt && !isIdle) return false
    return !isSlow || this.slowFlights() < this.slowSessions || (this.slowSessions === 0 && isIdle)
  }

  private heldToAsk(now: number, isIdle: boolean): string | undefined {
    for (const name of this.held) if (this.mayAsk(this.domainOf(name), now, isIdle)) return name
    return undefined
  }

  private fitOf(domain: Domain, name: string, now: number): "yes" | "over-share" | "no" {
    const { breaker, flights, isKnown, isSlow, nextAt } = domain
    if (name === "") return "yes"
    if (breaker.isPaused(now) || nextAt > now) return "no"
    if (breaker.isOpen) return flights === 0 ? "yes" : "no"
    if (this.limits === undefined) return "yes"
    if (!isKnown || isSlow) {
      if (flights > 0) return "no"
      return !isSlow || this.slowFlights() < this.slowSessions ? "yes" : this.slowSessions === 0 ? "over-share" : "no"
    }
    return flights < this.share ? "yes" : "over-share"
  }

  private isOverShare({ domain }: M, now: number): boolean {
    return this.fitOf(this.domainOf(domain), domain, now) === "over-share"
  }

  /** Domains of which there is nothing more to claim now. */
  private excluded(): ReadonlyArray<string> {
    const names = new Set(this.held)
    for (const { domain } of this.waiting) if (domain !== "") names.add(domain)
    return [...names]
  }

  /**
   * A claim of all but the excluded domains. Where their messages are in front of the queue, it would read all of them each
   * time; so it begins where the last one found its first message, as long as no excluded domain has come free.
   */
  private pastHeld(now: number): ClaimChoice {
    const without = this.excluded()
    const { passed } = this
    if (passed === undefined || now - passed.at >= passedMillis) return { without }
    const names = new Set(without)
    return passed.without.every((name) => names.has(name)) ? { without, dueFrom: passed.dueFrom } : { without }
  }

  /** Remembers where an ordinary claim found its first bulk message. */
  private pass(messages: ReadonlyArray<M>, { dueFrom, without = [] }: ClaimChoice, now: number): void {
    const first = messages.find(({ isTransactional }) => !isTransactional)
    if (first === undefined || without.length === 0) {
      this.passed = undefined
      return
    }
    const at = dueFrom === undefined || this.passed === undefined ? now : this.passed.at
    this.passed = { dueFrom: first.dueAt - lateMillis, without, at }
  }

  private observe(domain: Domain, { domain: name, startedAt }: Flight, result: SendResult, now: number): void {
    if (name === "") return
    const took = now - startedAt
    this.answers.push(took)
    if (this.answers.length > answersKept) this.answers.shift()
    this.typicalMillis = [...this.answers].sort((a, b) => a - b)[this.answers.length >> 1]!
    domain.isKnown = true
    domain.isSlow = this.limits !== undefined && took > this.slowAfter
    if (result._tag === "accepted" || result._tag === "refused") return domain.breaker.answered(startedAt)
    if (!("scope" in result) || result.scope !== "recipient") return
    if (result._tag === "retry") return domain.breaker.failed(startedAt, now)
    domain.breaker.slowedDown(result.wait === undefined ? undefined : Duration.toMillis(result.wait), startedAt, now)
  }

  private remove(messages: ReadonlyArray<M>): void {
    if (messages.length === 0) return
    const removed = new Set(messages)
    for (const { domain } of messages) this.domainOf(domain).waiting--
    this.waiting = this.waiting.filter((message) => !removed.has(message))
  }

  /** Keeps the number of remembered domains bounded: those that nothing is known against go first. */
  private forget(): void {
    if (this.domains.size <= domainsKept) return
    for (const [name, { breaker, flights, isSlow, waiting }] of this.domains) {
      if (flights > 0 || waiting > 0 || isSlow || breaker.isOpen) continue
      this.domains.delete(name)
      if (this.domains.size <= domainsKept) return
    }
  }
}
