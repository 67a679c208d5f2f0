import type { DomainLimits, SendResult } from "./Connection.ts"
import { HashMap, Option } from "effect"
import * as Breaker from "./CircuitBreaker.ts"
import { afterAttempt } from "./FailureOwner.ts"
import { isDeferring, isOpen, isTroubled, type RecipientDomain, unknownDomain } from "./RecipientDomain.ts"

/**
 * An attempt is slow after this time, or after five times the typical answer time if that is longer. Unit:
 * milliseconds.
 */
const slowMillis = 1_000
const slowFactor = 5

/** Number of latest answers from which the typical answer time is calculated. */
const answersKept = 31

/** Minimum interval between two claims for messages of a held domain. Unit: milliseconds. */
const askEvery = 20

/** Minimum interval between two claims while claimed messages are waiting for a session. Unit: milliseconds. */
const refillEvery = 100

/**
 * Minimum interval between two claims for transactional messages while bulk messages are waiting for a session. Unit:
 * milliseconds.
 */
const transactionalEvery = 400

/**
 * Minimum interval between two claims for other domains while one domain uses more than its share. Doubles, up to
 * `longestLook`, while no other domain has messages. Unit: milliseconds.
 */
const lookEvery = 500
const longestLook = 8_000

/**
 * Minimum interval between two claims for other domains while only messages to deferring domains are sent. Unit:
 * milliseconds.
 */
const aloneEvery = 1_000

/** How long a claim may skip messages that an earlier claim passed over. Unit: milliseconds. */
const passedMillis = 10_000

/**
 * A message may become visible this much later than its due time, because its transaction committed later. Claims begin
 * this much before the first message of the earlier claim. Unit: milliseconds.
 */
const lateMillis = 1_000

/**
 * If more domains than this are remembered, domains without problems are removed. Domains in use and domains with
 * problems are always kept.
 */
const domainsKept = 10_000

/** A claimed message. */
export interface Waiting {
  readonly id: string
  /** The recipient's domain, normalized for comparison; "" if unknown. An unknown domain has no limits. */
  readonly domain: string
  readonly isTransactional: boolean
  /** Unit: Unix milliseconds. */
  readonly dueAt: number
}

/** A message that is being sent. */
export interface Flight {
  readonly domain: string
  readonly startedAt: number
}

/** Selects the messages to claim next. */
export interface ClaimChoice {
  /** Only messages to this recipient domain. */
  readonly only?: string
  /** With `only`: the maximum number of messages. Default: 1. */
  readonly atMost?: number
  /** Excludes messages to these recipient domains. */
  readonly without?: ReadonlyArray<string>
  /** Only transactional messages. */
  readonly isTransactional?: boolean
  /**
   * Excludes bulk messages that were due before this time. Does not limit transactional messages. Unit: Unix
   * milliseconds.
   */
  readonly dueFrom?: number
}

/** Messages to return to the queue, and attempts to give up if no part of their message has been sent. */
interface Review<M> {
  readonly back: ReadonlyArray<M>
  readonly givenUp: ReadonlyArray<Flight>
}

const nothingToDo: Review<never> = { back: [], givenUp: [] }

/**
 * Shares the sessions of a connection among recipient domains. Transactional messages are sent before bulk messages.
 * Within each priority, messages are sent in the order of their due times, with these exceptions:
 *
 * - A domain uses at most its share of the sessions while messages to other domains are waiting.
 * - A domain that has not answered yet uses one session.
 * - Each slow domain uses one session, and all slow domains together use at most the share, so that other domains
 *   always find a session. If more sessions are slow, the latest of these attempts are given up.
 * - A domain with an open breaker uses one session, for a probe or while no other message is waiting. While no other
 *   message is waiting, domains that fail without being slow or requesting a pause use all sessions.
 *
 * Messages to slow domains and to domains with an open breaker stay in the queue (`held`), so that they do not fill the
 * buffer of the lane. `wants` requests one of them when it may be sent. Times are milliseconds of a monotonic clock.
 * All fields hold immutable values, so `copyOf` needs no deep copy.
 */
export class DomainSessions<M extends Waiting> {
  private domains = HashMap.empty<string, RecipientDomain>()
  /** Domains for which `isTroubled` is true. Only their messages may be held. */
  private troubled: ReadonlySet<string> = new Set()
  private waiting: ReadonlyArray<M> = []
  private flights: ReadonlyArray<Flight> = []
  /** Domains whose messages stay in the queue, least recently requested first. */
  private held: ReadonlyArray<string> = []
  /** Domains whose messages stay in the queue until other domains have answered. The brake names them. */
  private avoided: ReadonlySet<string> = new Set()
  private answers: ReadonlyArray<number> = []
  private typicalMillis = 0
  private askedAt = -Infinity
  private transactionalAt = -Infinity
  private lookedAt = -Infinity
  private lookMillis = lookEvery
  /**
   * Until this time, the last claim proves that only held domains have messages. -Infinity if it found messages to
   * other domains.
   */
  private aloneUntil = -Infinity
  /**
   * All bulk messages that were due before `dueFrom` are to the domains in `without`, according to an ordinary claim at
   * `at`.
   */
  private passed: { readonly dueFrom: number; readonly without: ReadonlyArray<string>; readonly at: number } | undefined

  constructor(private sessions: number, private readonly limits: DomainLimits | undefined) {}

  /** Changes the number of sessions, minimum 1. Sessions in use stay in use until their attempts end. */
  resize(sessions: number): void {
    this.sessions = sessions
  }

  get waitingCount(): number {
    return this.waiting.length
  }

  /** Whether no message is waiting and every held domain is avoided. */
  get isIdle(): boolean {
    return this.waiting.length === 0 && this.heldDomains.every((name) => this.avoided.has(name))
  }

  /**
   * Stops sending to these domains until the next call. Returns the claimed messages that the caller must return to the
   * queue.
   */
  avoid(domains: ReadonlyArray<string>): ReadonlyArray<M> {
    if (domains.length === 0 && this.avoided.size === 0) return []
    this.avoided = new Set(domains)
    const back = this.waiting.filter(({ domain }) => this.avoided.has(domain))
    this.remove(back)
    return back
  }

  /**
   * Returns which messages to claim now, or undefined if enough are claimed. With `isIdle`, no claimed message can be
   * sent.
   */
  wants(now: number, limit: number, isIdle = false): ClaimChoice | undefined {
    const isAlone = this.isAlone && (isIdle || (this.waiting.length === 0 && now < this.aloneUntil))
    const domainToAsk = now - this.askedAt < askEvery ? undefined : this.heldToAsk(now, isIdle || isAlone, isAlone)
    if (domainToAsk !== undefined) {
      this.askedAt = now
      const atMost = isAlone && isDeferring(this.domainOf(domainToAsk)) ? this.atOnce(limit) : 1
      return atMost === 1 ? { only: domainToAsk } : { only: domainToAsk, atMost }
    }
    if (isIdle || this.waiting.length >= 4 * limit) return undefined
    const next = this.pick(now)
    if (now - this.lookedAt >= this.lookAfter(next, now)) {
      this.lookedAt = now
      this.transactionalAt = now
      return this.pastHeld(now)
    }
    if (next === undefined || next.isTransactional || now - this.transactionalAt < transactionalEvery) return undefined
    this.transactionalAt = now
    return { without: this.excluded(), isTransactional: true }
  }

  /** Adds claimed messages. Returns the messages that the caller must return to the queue. */
  add(messages: ReadonlyArray<M>, choice: ClaimChoice, now: number): ReadonlyArray<M> {
    if (choice.only !== undefined) {
      this.release(choice.only)
      // If no message of the domain is due, an ordinary claim finds its next message.
      if (messages.length > 0) this.hold(choice.only)
    } else if (choice.isTransactional !== true) {
      this.lookMillis = messages.length > 0 ? lookEvery : Math.min(longestLook, 2 * this.lookMillis)
      if (messages.length === 0 && (choice.without ?? []).every((name) => this.isPassedOver(name))) {
        this.aloneUntil = now + aloneEvery
      }
      this.pass(messages, choice, now)
    }
    const back: Array<M> = []
    const kept: Array<M> = []
    for (const message of messages) {
      const domain = this.domainOf(message.domain)
      const isOneOfSeveral = choice.atMost !== undefined && isDeferring(domain) &&
        !Breaker.isSilent(domain.breaker, now)
      const isKept = !this.isHeld(domain, now) || isOneOfSeveral || this.mayAsk(domain, now, choice.only !== undefined)
      if (!isKept) {
        this.hold(message.domain)
        back.push(message)
        continue
      }
      this.change(message.domain, { waiting: domain.waiting + 1 })
      kept.push(message)
    }
    if (kept.some(({ domain }) => !isDeferring(this.domainOf(domain)))) this.aloneUntil = -Infinity
    if (kept.length > 0) {
      this.waiting = [...this.waiting, ...kept].sort((a, b) =>
        Number(b.isTransactional) - Number(a.isTransactional) || a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1)
      )
    }
    return back
  }

  /** Returns the message to send now, or undefined if no waiting message may be sent. */
  pick(now: number): M | undefined {
    let overShare: M | undefined
    let deferring: M | undefined
    let unseen = this.waiting.length
    const seen = new Set<string>()
    for (const message of this.waiting) {
      if (seen.has(message.domain)) continue
      const domain = this.domainOf(message.domain)
      const fit = this.fitOf(domain, message.domain, now)
      if (fit === "yes") return message
      if (fit === "over-share") overShare ??= message
      if (fit === "alone") deferring ??= message
      seen.add(message.domain)
      unseen -= domain.waiting
      if (unseen === 0) break
    }
    return overShare ?? deferring
  }

  /** Returns up to `count` waiting messages, first in line first. They are likely to be sent next. */
  ahead(count: number): ReadonlyArray<M> {
    return this.waiting.slice(0, count)
  }

  /**
   * The earliest time at which a rate limit of a domain permits a waiting message; Infinity if no rate limit delays a
   * message.
   */
  nextAt(now: number): number {
    return this.waiting.reduce((least, { domain }) => {
      const at = this.domainOf(domain).nextAt
      return at > now ? Math.min(least, at) : least
    }, Infinity)
  }

  /** Records the start of a picked message. */
  start(message: M, now: number): Flight {
    const place = this.waiting.indexOf(message)
    if (place !== -1) this.waiting = place === 0 ? this.waiting.slice(1) : this.waiting.toSpliced(place, 1)
    const { flights, nextAt, waiting } = this.domainOf(message.domain)
    const spacing = this.limits?.perSecond === undefined ? undefined : 1_000 / this.limits.perSecond
    this.change(message.domain, {
      waiting: waiting - 1,
      flights: flights + 1,
      nextAt: spacing === undefined ? nextAt : Math.max(nextAt, now - spacing) + spacing,
    })
    const flight = { domain: message.domain, startedAt: now }
    this.flights = [...this.flights, flight]
    return flight
  }

  /** Records the end of an attempt. `result` is undefined if the platform was not contacted. */
  end(flight: Flight, result: SendResult | undefined, now: number): void {
    this.flights = this.flights.filter((other) => other !== flight)
    this.change(flight.domain, { flights: this.domainOf(flight.domain).flights - 1 })
    if (result === undefined || result._tag === "unfit" || result._tag === "yielded") return
    this.observe(flight, result, now)
    if (!this.isHeld(this.domainOf(flight.domain), now)) this.release(flight.domain)
    this.forget()
  }

  /** Detects slow attempts. */
  review(now: number): Review<M> {
    const slow: Array<Flight> = []
    for (const flight of this.flights) {
      const isLate = this.limits !== undefined && now - flight.startedAt > this.slowAfter
      if (isLate && !this.domainOf(flight.domain).isSlow) this.change(flight.domain, { isSlow: true })
      if (this.troubled.has(flight.domain) && this.domainOf(flight.domain).isSlow) slow.push(flight)
    }
    if (this.troubled.size === 0) return nothingToDo
    const next = this.pick(now)
    const isAlone = this.isAlone && (next === undefined || isDeferring(this.domainOf(next.domain)))
    const back = this.waiting.filter(({ domain: name }) => {
      const domain = this.domainOf(name)
      if (!this.isHeld(domain, now)) return false
      this.hold(name)
      if (isAlone && isDeferring(domain) && !Breaker.isSilent(domain.breaker, now)) return false
      return domain.waiting > 1 || domain.flights > 0 || Breaker.isSilent(domain.breaker, now)
    })
    this.remove(back)
    const givenUp = this.flights.length >= this.sessions && this.pick(now) !== undefined
      ? slow.sort((a, b) => a.startedAt - b.startedAt).slice(this.slowSessions)
      : []
    return { back, givenUp }
  }

  /** Whether all sessions are in use, and more of them are slow than allowed. */
  isCrowded(): boolean {
    return this.flights.length >= this.sessions && this.slowFlights() > this.slowSessions
  }

  /** Removes and returns all waiting messages. */
  drain(): ReadonlyArray<M> {
    const all = this.waiting
    this.passed = undefined
    this.remove(all)
    return all
  }

  /** Domains whose messages stay in the queue. */
  get heldDomains(): ReadonlyArray<string> {
    return this.held
  }

  private domainOf(name: string): RecipientDomain {
    return Option.getOrElse(HashMap.get(this.domains, name), () => unknownDomain)
  }

  private change(name: string, changes: Partial<RecipientDomain>): void {
    const domain = { ...this.domainOf(name), ...changes }
    this.domains = HashMap.set(this.domains, name, domain)
    if (isTroubled(domain) === this.troubled.has(name)) return
    const troubled = new Set(this.troubled)
    if (isTroubled(domain)) troubled.add(name)
    else troubled.delete(name)
    this.troubled = troubled
  }

  /** Whether, as far as is known, only held domains have messages. */
  private get isAlone(): boolean {
    return this.aloneUntil > -Infinity
  }

  private isPassedOver(name: string): boolean {
    return this.held.includes(name) || this.avoided.has(name)
  }

  private hold(name: string): void {
    if (!this.held.includes(name)) this.held = [...this.held, name]
  }

  private release(name: string): void {
    if (this.held.includes(name)) this.held = this.held.filter((other) => other !== name)
  }

  private get slowAfter(): number {
    return Math.max(slowMillis, slowFactor * this.typicalMillis)
  }

  /** Maximum number of sessions of one domain while messages to other domains are waiting. */
  private get share(): number {
    return Math.max(1, Math.floor(this.sessions * (this.limits?.share ?? 1)))
  }

  /** Maximum number of sessions of all slow domains together. */
  private get slowSessions(): number {
    return Math.min(this.share, this.sessions - 1)
  }

  private slowFlights(): number {
    let count = 0
    if (this.troubled.size === 0) return count
    for (const { domain } of this.flights) if (this.domainOf(domain).isSlow) count++
    return count
  }

  /** Whether messages to the domain stay in the queue and are claimed one by one. */
  private isHeld(domain: RecipientDomain, now: number): boolean {
    return isOpen(domain) || Breaker.isSilent(domain.breaker, now) || domain.isSlow
  }

  /** Whether a message to a held domain may be claimed. */
  private mayAsk(domain: RecipientDomain, now: number, isIdle: boolean, isAlone = false): boolean {
    const { breaker, flights, isSlow, waiting } = domain
    if (waiting > 0 || Breaker.isSilent(breaker, now)) return false
    if (isAlone && isDeferring(domain)) return true
    if (flights > 0) return false
    if (isOpen(domain) && now < breaker.probeAt && !isIdle) return false
    return !isSlow || this.slowFlights() < this.slowSessions || (this.slowSessions === 0 && isIdle)
  }

  /** Number of messages to a deferring domain to claim while no other message is waiting. */
  private atOnce(limit: number): number {
    return this.held.filter((name) => isDeferring(this.domainOf(name))).length > 1 ? this.share : limit
  }

  private heldToAsk(now: number, isIdle: boolean, isAlone: boolean): string | undefined {
    for (const name of this.held) {
      if (!this.avoided.has(name) && this.mayAsk(this.domainOf(name), now, isIdle, isAlone)) return name
    }
    return undefined
  }

  /**
   * Whether a message to the domain may be sent: now (`yes`), only if no message within its share is waiting
   * (`over-share`), only if no other message is waiting (`alone`), or not at present (`no`).
   */
  private fitOf(domain: RecipientDomain, name: string, now: number): "yes" | "over-share" | "alone" | "no" {
    const { breaker, flights, isKnown, isSlow, nextAt, waiting } = domain
    if (name === "") return "yes"
    if (Breaker.isSilent(breaker, now) || nextAt > now) return "no"
    if (isDeferring(domain)) return flights === 0 && waiting === 1 ? "yes" : "alone"
    if (isOpen(domain)) return flights === 0 ? "yes" : "no"
    if (this.limits === undefined) return "yes"
    if (!isKnown || isSlow) {
      if (flights > 0) return "no"
      return !isSlow || this.slowFlights() < this.slowSessions ? "yes" : this.slowSessions === 0 ? "over-share" : "no"
    }
    return flights < this.share ? "yes" : "over-share"
  }

  /** Pause after the last claim for other domains, if `next` is the next message. Unit: milliseconds. */
  private lookAfter(next: M | undefined, now: number): number {
    if (next === undefined) return this.waiting.length === 0 ? 0 : refillEvery
    const fit = this.fitOf(this.domainOf(next.domain), next.domain, now)
    return fit === "over-share" ? this.lookMillis : fit === "alone" ? aloneEvery : Infinity
  }

  /** Domains that a claim for other domains excludes: their messages are held, avoided or already claimed. */
  private excluded(): ReadonlyArray<string> {
    const names = new Set([...this.held, ...this.avoided])
    for (const { domain } of this.waiting) if (domain !== "") names.add(domain)
    return [...names]
  }

  /**
   * Returns an ordinary claim, which excludes some domains. If many messages of these domains were at the head of the
   * queue, every claim would read all of them. Therefore the claim begins where the last ordinary claim found its first
   * message, unless a domain that it excluded is free again.
   */
  private pastHeld(now: number): ClaimChoice {
    const without = this.excluded()
    const { passed } = this
    if (passed === undefined || now - passed.at >= passedMillis) return { without }
    const names = new Set(without)
    return passed.without.every((name) => names.has(name)) ? { without, dueFrom: passed.dueFrom } : { without }
  }

  /** Stores where an ordinary claim found its first bulk message. */
  private pass(messages: ReadonlyArray<M>, { dueFrom, without = [] }: ClaimChoice, now: number): void {
    const first = messages.find(({ isTransactional }) => !isTransactional)
    if (first === undefined || without.length === 0) {
      this.passed = undefined
      return
    }
    const at = dueFrom === undefined || this.passed === undefined ? now : this.passed.at
    this.passed = { dueFrom: first.dueAt - lateMillis, without, at }
  }

  private observe({ domain: name, startedAt }: Flight, result: SendResult, now: number): void {
    if (name === "") return
    const took = now - startedAt
    this.answers = [...this.answers, took].slice(-answersKept)
    this.typicalMillis = [...this.answers].sort((a, b) => a - b)[this.answers.length >> 1]!
    const { breaker } = this.domainOf(name)
    this.change(name, {
      isKnown: true,
      isSlow: this.limits !== undefined && took > this.slowAfter,
      breaker: afterAttempt(breaker, "recipient", result, startedAt, now),
    })
  }

  private remove(messages: ReadonlyArray<M>): void {
    if (messages.length === 0) return
    const removed = new Set(messages)
    for (const { domain } of messages) this.change(domain, { waiting: this.domainOf(domain).waiting - 1 })
    this.waiting = this.waiting.filter((message) => !removed.has(message))
  }

  /** Limits the number of remembered domains. Domains in use and domains with problems are kept. */
  private forget(): void {
    if (HashMap.size(this.domains) <= domainsKept) return
    for (const [name, domain] of this.domains) {
      if (domain.flights > 0 || domain.waiting > 0 || domain.isSlow || isOpen(domain)) continue
      this.change(name, { breaker: Breaker.closed })
      this.domains = HashMap.remove(this.domains, name)
      return
    }
  }
}
