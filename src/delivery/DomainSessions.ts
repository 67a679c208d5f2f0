import type { DomainLimits, SendResult } from "./Connection.ts"
import { HashMap, Option } from "effect"
import * as Breaker from "./CircuitBreaker.ts"
import { afterAttempt } from "./FailureOwner.ts"

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

/** Between two searches for other messages while only messages of deferring domains leave. Unit: milliseconds. */
const aloneEvery = 1_000

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
}

/** Which messages to claim next. */
export interface ClaimChoice {
  /** Messages to this recipient domain only. */
  readonly only?: string
  /** With `only`: that many messages at most; one if it is missing. */
  readonly atMost?: number
  /** No messages to these recipient domains. */
  readonly without?: ReadonlyArray<string>
  /** Transactional messages only. */
  readonly isTransactional?: boolean
  /** Bulk messages that are due at this time or later. Unix milliseconds. */
  readonly dueFrom?: number
}

interface Domain {
  readonly breaker: Breaker.CircuitBreaker
  readonly flights: number
  /** Messages that wait here. */
  readonly waiting: number
  /** It has answered an attempt. */
  readonly isKnown: boolean
  /** Its last answer was slow, or an attempt under way is. */
  readonly isSlow: boolean
  /** When the next message may leave at the domain's own rate. */
  readonly nextAt: number
}

/** A domain of which nothing is known yet. */
const unknown: Domain = {
  breaker: Breaker.closed,
  flights: 0,
  waiting: 0,
  isKnown: false,
  isSlow: false,
  nextAt: -Infinity,
}

/** Whether messages of the domain leave one at a time, or not at all. */
const isOpen = ({ breaker }: Domain): boolean => Breaker.isProbing(breaker, Breaker.domainPolicy)

/** Whether a domain is slow, has an open breaker, or has ever been silent. */
const isTroubled = ({ breaker, isSlow }: Domain): boolean =>
  isSlow || breaker.trouble !== undefined || breaker.silentUntil > -Infinity

/** Whether messages of the domain may leave several at a time while nothing else waits, despite its open breaker. */
const isDeferring = ({ breaker, isSlow }: Domain): boolean => breaker.trouble?.state === "failing" && !isSlow

/** Messages that have to go back into the queue, and attempts that are to end if no part of their message has been sent. */
export interface Review<M> {
  readonly back: ReadonlyArray<M>
  readonly givenUp: ReadonlyArray<Flight>
}

const nothingToDo: Review<never> = { back: [], givenUp: [] }

/**
 * Shares the sessions of a connection among recipient domains. Transactional messages go before bulk messages, and messages of
 * a kind in the order in which they are due, but for these rules:
 *
 * - A domain uses at most its share of the sessions while messages to other domains wait.
 * - A domain that has not answered yet uses one session.
 * - Slow domains use one session each, and all of them together at most the share, so that others always find a session.
 *   When more sessions are slow, the youngest of these attempts are given up.
 * - A domain with an open breaker uses one session, and only while nothing else waits, or for a probe. While nothing else
 *   waits, domains that fail without being slow or asking for less use all sessions.
 *
 * Messages of slow domains and of those with an open breaker stay in the queue (`held`), so that they do not fill the buffer
 * of the lane. It asks for one of them when it may leave. Times are milliseconds of a clock that does not jump. All fields hold
 * immutable values, so that `copyOf` copies it.
 */
export class DomainSessions<M extends Waiting> {
  private domains = HashMap.empty<string, Domain>()
  /** Domains that `isTroubled`: the only ones whose messages may be held. */
  private troubled: ReadonlySet<string> = new Set()
  private waiting: ReadonlyArray<M> = []
  private flights: ReadonlyArray<Flight> = []
  /** Domains whose messages stay in the queue, the one that was asked for longest ago first. */
  private held: ReadonlyArray<string> = []
  /** Domains whose messages stay in the queue until others have been answered. */
  private avoided: ReadonlySet<string> = new Set()
  private answers: ReadonlyArray<number> = []
  private typicalMillis = 0
  private askedAt = -Infinity
  private transactionalAt = -Infinity
  private lookedAt = -Infinity
  private lookMillis = lookEvery
  /** Until when to trust the last search that passed over held domains only and found no others; -Infinity if it found some. */
  private aloneUntil = -Infinity
  /** Messages due earlier are to domains that the last claim passed over. */
  private passed: { readonly dueFrom: number; readonly without: ReadonlyArray<string>; readonly at: number } | undefined

  constructor(private sessions: number, private readonly limits: DomainLimits | undefined) {}

  /** Shares so many sessions from now on, at least 1. Those that are taken stay so until their attempts end. */
  resize(sessions: number): void {
    this.sessions = sessions
  }

  get waitingCount(): number {
    return this.waiting.length
  }

  /** No message waits here, and none in the queue to a domain that messages may leave to. */
  get isIdle(): boolean {
    return this.waiting.length === 0 && this.heldDomains.every((name) => this.avoided.has(name))
  }

  /** Lets no message to these domains leave, until called again. Returns messages that have to go back into the queue. */
  avoid(domains: ReadonlyArray<string>): ReadonlyArray<M> {
    if (domains.length === 0 && this.avoided.size === 0) return []
    this.avoided = new Set(domains)
    const back = this.waiting.filter(({ domain }) => this.avoided.has(domain))
    this.remove(back)
    return back
  }

  /** Which messages to claim now; undefined while there are enough. With `isIdle`, nothing else can leave. */
  wants(now: number, limit: number, isIdle = false): ClaimChoice | undefined {
    const isAlone = this.isAlone && (isIdle || (this.waiting.length === 0 && now < this.aloneUntil))
    const asked = now - this.askedAt < askEvery ? undefined : this.heldToAsk(now, isIdle || isAlone, isAlone)
    if (asked !== undefined) {
      this.askedAt = now
      const atMost = isAlone && isDeferring(this.domainOf(asked)) ? this.atOnce(limit) : 1
      return atMost === 1 ? { only: asked } : { only: asked, atMost }
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

  /** Takes claimed messages. Returns those that have to go back into the queue. */
  add(messages: ReadonlyArray<M>, choice: ClaimChoice, now: number): ReadonlyArray<M> {
    if (choice.only !== undefined) {
      this.release(choice.only)
      // With no message due, the next one is found by an ordinary claim.
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

  /** The message that may leave now; undefined while there is none. */
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

  /** The first messages that wait, `count` at most: those that are likely to leave next. */
  ahead(count: number): ReadonlyArray<M> {
    return this.waiting.slice(0, count)
  }

  /** When a message that waits for its domain's own rate may leave; Infinity if none does. */
  nextAt(now: number): number {
    return this.waiting.reduce((least, { domain }) => {
      const at = this.domainOf(domain).nextAt
      return at > now ? Math.min(least, at) : least
    }, Infinity)
  }

  /** A picked message sets out. */
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

  /** An attempt has ended; `result` is undefined if the platform was not asked. */
  end(flight: Flight, result: SendResult | undefined, now: number): void {
    this.flights = this.flights.filter((other) => other !== flight)
    this.change(flight.domain, { flights: this.domainOf(flight.domain).flights - 1 })
    if (result === undefined || result._tag === "unfit" || result._tag === "yielded") return
    this.observe(flight, result, now)
    if (!this.isHeld(this.domainOf(flight.domain), now)) this.release(flight.domain)
    this.forget()
  }

  /** Looks for slow attempts. */
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

  /** All sessions are taken, and more of them are slow than may be. */
  isCrowded(): boolean {
    return this.flights.length >= this.sessions && this.slowFlights() > this.slowSessions
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
    return this.held
  }

  private domainOf(name: string): Domain {
    return Option.getOrElse(HashMap.get(this.domains, name), () => unknown)
  }

  private change(name: string, changes: Partial<Domain>): void {
    const domain = { ...this.domainOf(name), ...changes }
    this.domains = HashMap.set(this.domains, name, domain)
    if (isTroubled(domain) === this.troubled.has(name)) return
    const troubled = new Set(this.troubled)
    if (isTroubled(domain)) troubled.add(name)
    else troubled.delete(name)
    this.troubled = troubled
  }

  /** Whether no message waits but those of held domains, as far as is known. */
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
    if (this.troubled.size === 0) return count
    for (const { domain } of this.flights) if (this.domainOf(domain).isSlow) count++
    return count
  }

  /** Messages of the domain leave one by one, on request. */
  private isHeld(domain: Domain, now: number): boolean {
    return isOpen(domain) || Breaker.isSilent(domain.breaker, now) || domain.isSlow
  }

  /** Whether a message of a held domain may be claimed to leave. */
  private mayAsk(domain: Domain, now: number, isIdle: boolean, isAlone = false): boolean {
    const { breaker, flights, isSlow, waiting } = domain
    if (waiting > 0 || Breaker.isSilent(breaker, now)) return false
    if (isAlone && isDeferring(domain)) return true
    if (flights > 0) return false
    if (isOpen(domain) && now < breaker.probeAt && !isIdle) return false
    return !isSlow || this.slowFlights() < this.slowSessions || (this.slowSessions === 0 && isIdle)
  }

  /** How many messages of a deferring domain to claim while nothing else waits. */
  private atOnce(limit: number): number {
    return this.held.filter((name) => isDeferring(this.domainOf(name))).length > 1 ? this.share : limit
  }

  private heldToAsk(now: number, isIdle: boolean, isAlone: boolean): string | undefined {
    for (const name of this.held) {
      if (!this.avoided.has(name) && this.mayAsk(this.domainOf(name), now, isIdle, isAlone)) return name
    }
    return undefined
  }

  /** Whether a message of the domain may leave: at once, or after all that fit better. */
  private fitOf(domain: Domain, name: string, now: number): "yes" | "over-share" | "alone" | "no" {
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

  /** How long after the last search for other domains the next one is due, with `next` as the next message. Milliseconds. */
  private lookAfter(next: M | undefined, now: number): number {
    if (next === undefined) return this.waiting.length === 0 ? 0 : refillEvery
    const fit = this.fitOf(this.domainOf(next.domain), next.domain, now)
    return fit === "over-share" ? this.lookMillis : fit === "alone" ? aloneEvery : Infinity
  }

  /** Domains of which there is nothing more to claim now. */
  private excluded(): ReadonlyArray<string> {
    const names = new Set([...this.held, ...this.avoided])
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

  /** Keeps the number of remembered domains bounded: only domains that nothing is known against go. */
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
