import { Clock, Duration, Effect, Fiber, FiberSet } from "effect"
import type { Composed } from "../../domain/Email.ts"
import { MayBegin } from "../MayBegin.ts"
import { GrantedSessions } from "./GrantedSessions.ts"
import { isSessionRefusal, type SmtpFault } from "./SmtpReplies.ts"
import type { SmtpSession } from "./SmtpSession.ts"
import type { SmtpTimes } from "./SmtpTimes.ts"

/** A session is closed after this many messages, as servers count them, and after this much idleness. */
const maxMessages = 500
const idleMillis = 30_000

/** If the server took longer for the addresses, `MayBegin` is asked once more. Unit: milliseconds. */
const freshMillis = 1_000

/** A refusal is judged after this time at the latest. Unit: milliseconds. */
const judgeMillis = 1_000

/** How long a server may take to notice that a session was cut. */
const noticed = Duration.millis(250)

/** Between two searches for messages that take too long and for idle sessions. */
const lookEvery = Duration.seconds(1)

/** How far a message has come. */
interface Progress {
  /** The server has taken sender and recipient, and the message may have been sent in part or whole. */
  began: boolean
  /** A session was ready, and the message is on its turn: a silence from here on belongs to the recipient. */
  isReady: boolean
}

/**
 * How an attempt ended. `late`: the server took too long. `closed`: its connection was closed. `left`: the connection was changed or
 * paused. `yielded`: another message needed the session. `crowded`: the server grants no other session.
 */
export type AttemptEnd =
  | { readonly _tag: "sent" }
  | { readonly _tag: "fault"; readonly fault: SmtpFault }
  | { readonly _tag: "late" | "closed" | "yielded" | "left" | "crowded"; readonly progress: Progress }

/** A session, and the messages that it has sent. */
interface Kept {
  readonly session: SmtpSession
  readonly messages: number
  readonly since: number
}

/** A message on its way, from the wait for a session to the reply. */
interface Attempt {
  readonly mail: Composed
  readonly progress: Progress
  readonly mayBegin: MayBegin
  /** The caller wants its session for another message. */
  isGivenUp: boolean
  /** When the server has taken too long; Infinity while there is no session for it. */
  endsAt: number
  readonly done: (end: AttemptEnd) => void
  /** Whether one of the sessions is its own. */
  hasTurn: boolean
  session?: SmtpSession | undefined
  opening?: Fiber.Fiber<void> | undefined
  /** The server refused its session. The meaning of that is not known before other sessions are open or refused. */
  refusal?: { readonly fault: SmtpFault; readonly at: number }
}

/** The sessions with one SMTP server. */
export interface SmtpSessions {
  /**
   * Sends a message through a session that is idle, or a new one. Messages beyond the number of sessions wait for their turn. When
   * `giveUp` is aborted, the attempt ends as `yielded`, unless part of the message has been sent: then it may arrive.
   */
  readonly send: (mail: Composed, giveUp: AbortSignal | undefined) => Effect.Effect<AttemptEnd>
  /** Ends attempts whose message has not begun, as `left`. */
  readonly leave: () => void
  /** How many sessions the server grants now, at least 1 and at most as many as the connection has. */
  readonly granted: () => number
}

/** Makes up to `connections` sessions, which are kept from message to message and closed with the scope. */
export const makeSessions = Effect.fnUntraced(function* (
  open: Effect.Effect<SmtpSession, SmtpFault>,
  connections: number,
  times: SmtpTimes,
) {
  const clock = yield* Clock.Clock
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  const pool = new Pool(open, (effect) => fork(effect), now, connections, times)
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(lookEvery), pool.look)))
  yield* Effect.addFinalizer(() => pool.close)
  return { send: pool.send, leave: pool.leave, granted: () => pool.granted.count } satisfies SmtpSessions
})

/** The sessions that are open or being opened, and the attempts that use them or wait. Times are monotonic milliseconds. */
class Pool {
  readonly granted: GrantedSessions
  readonly #attempts = new Set<Attempt>()
  #waiting: Array<Attempt> = []
  #idle: Array<Kept> = []
  /** Attempts that have their turn, and sessions that the server may still count although they are given up. */
  #busy = 0
  #leaving = 0
  #isClosing = false

  constructor(
    private readonly open: Effect.Effect<SmtpSession, SmtpFault>,
    private readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>,
    private readonly now: () => number,
    connections: number,
    private readonly times: SmtpTimes,
  ) {
    this.granted = new GrantedSessions(connections, now)
  }

  readonly send = (mail: Composed, giveUp: AbortSignal | undefined): Effect.Effect<AttemptEnd> =>
    Effect.flatMap(MayBegin, (mayBegin) => this.#send(mail, giveUp, mayBegin))

  #send(mail: Composed, giveUp: AbortSignal | undefined, mayBegin: MayBegin): Effect.Effect<AttemptEnd> {
    return Effect.callback((resume) => {
      const progress: Progress = { began: false, isReady: false }
      const yieldNow = () => {
        attempt.isGivenUp = true
        // A session that is being opened is of use to others.
        if (!progress.began && attempt.opening === undefined) this.#end(attempt, { _tag: "yielded", progress })
      }
      const attempt: Attempt = {
        mail,
        progress,
        mayBegin,
        isGivenUp: false,
        endsAt: Infinity,
        hasTurn: false,
        done: (how) => {
          giveUp?.removeEventListener("abort", yieldNow)
          resume(Effect.succeed(how))
        },
      }
      this.#attempts.add(attempt)
      giveUp?.addEventListener("abort", yieldNow)
      if (this.#isClosing) this.#end(attempt, { _tag: "closed", progress })
      else if (giveUp?.aborted === true) yieldNow()
      else {
        this.#waiting.push(attempt)
        this.#beginWaiting()
      }
      return Effect.sync(() => this.#end(attempt, { _tag: "closed", progress }))
    })
  }

  /** Ends attempts that take too long, and sessions that have been idle for long. */
  readonly look = Effect.sync(() => {
    const at = this.now()
    for (const attempt of this.#attempts) {
      if (at >= attempt.endsAt) this.#end(attempt, { _tag: "late", progress: attempt.progress })
    }
    const stale = this.#idle.filter(({ session, since }) => session.isOpen && at - since > idleMillis)
    this.#idle = this.#idle.filter((kept) => kept.session.isOpen && !stale.includes(kept))
    for (const { session } of stale) this.#leave(session.quit)
    this.#judgeRefusals()
    this.#beginWaiting()
  })

  readonly leave = (): void => {
    for (const attempt of [...this.#attempts]) {
      if (!attempt.progress.began) this.#end(attempt, { _tag: "left", progress: attempt.progress })
    }
  }

  readonly close = Effect.suspend(() => {
    this.#isClosing = true
    for (const attempt of [...this.#attempts]) this.#end(attempt, { _tag: "closed", progress: attempt.progress })
    return Effect.forEach(this.#idle.splice(0), ({ session }) => session.quit, {
      concurrency: "unbounded",
      discard: true,
    })
  })

  #beginWaiting(): void {
    if (this.#isClosing) return
    while (this.#waiting.length > 0 && this.#busy + this.#leaving < this.granted.count) {
      this.#begin(this.#waiting.shift()!)
    }
  }

  #begin(attempt: Attempt): void {
    this.#busy++
    attempt.hasTurn = true
    const kept = this.#takeIdle()
    if (kept === undefined) this.#beginNew(attempt)
    else this.#sendOver(attempt, kept)
  }

  /** The session used last, so that those in excess fall idle. */
  #takeIdle(): Kept | undefined {
    for (let kept = this.#idle.pop(); kept !== undefined; kept = this.#idle.pop()) {
      if (kept.session.isOpen) return kept
    }
    return undefined
  }

  #beginNew(attempt: Attempt): void {
    attempt.endsAt = Infinity
    attempt.progress.isReady = false
    attempt.opening = this.fork(Effect.match(this.open, {
      onFailure: (fault) => {
        attempt.opening = undefined
        this.#fail(attempt, fault)
        this.#judgeRefusals()
      },
      onSuccess: (session) => {
        attempt.opening = undefined
        if (this.#attempts.has(attempt)) this.#sendOver(attempt, { session, messages: 0, since: 0 })
        else session.destroy()
        this.#judgeRefusals()
      },
    }))
  }

  /** Sends a message over a session if it may begin now. */
  #sendOver(attempt: Attempt, kept: Kept): void {
    attempt.session = kept.session
    attempt.mayBegin((may) => {
      // It may have ended while the question was open.
      if (!this.#attempts.has(attempt)) return this.#keep(kept)
      if (!may || attempt.isGivenUp) {
        attempt.session = undefined
        this.#keep(kept)
        return this.#end(attempt, { _tag: "yielded", progress: attempt.progress })
      }
      if (kept.session.isOpen) return this.#transfer(attempt, kept)
      attempt.session = undefined
      this.#beginNew(attempt)
    })
  }

  #keep({ messages, session }: Kept): void {
    if (!session.isOpen) return
    if (this.#isClosing) this.#leave(session.quit)
    else this.#idle.push({ session, messages, since: this.now() })
  }

  #transfer(attempt: Attempt, { messages, session }: Kept): void {
    const askedAt = this.now()
    attempt.progress.isReady = true
    attempt.endsAt = askedAt + this.times.envelope
    const begin = (go: () => void) => this.#beginBody(attempt, askedAt, go)
    session.send({
      mail: attempt.mail,
      begin,
      done: (fault) => {
        attempt.session = undefined
        const isLast = messages + 1 >= maxMessages || this.#isClosing ||
          (fault !== undefined && isSessionRefusal(fault))
        if (session.isOpen && isLast) this.#leave(session.quit)
        else this.#keep({ session, messages: messages + 1, since: this.now() })
        if (fault === undefined) return this.#end(attempt, { _tag: "sent" })
        // The server had ended a kept session meanwhile, and not a byte of the message had gone out.
        const isStale = messages > 0 && !attempt.progress.began && fault.cause === undefined &&
          (fault.code === undefined || fault.code === 421)
        if (isStale) return this.#beginNew(attempt)
        this.#fail(attempt, fault)
        this.#judgeRefusals()
      },
    })
  }

  /** Sends the message itself, if it still may begin. */
  #beginBody(attempt: Attempt, askedAt: number, go: () => void): void {
    const begin = (may: boolean) => {
      if (!this.#attempts.has(attempt)) return
      // Its session ends with it: the server waits for the message.
      if (!may) return this.#end(attempt, { _tag: "yielded", progress: attempt.progress })
      attempt.progress.began = true
      attempt.endsAt = this.now() + this.times.message
      go()
    }
    if (this.now() - askedAt < freshMillis) begin(true)
    else attempt.mayBegin(begin)
  }

  /** Keeps the place of a session that is given up until `ended` is over: the server counts it until then. */
  #leave(ended: Effect.Effect<void>): void {
    this.#leaving++
    Effect.runFork(Effect.ensuring(
      ended,
      Effect.sync(() => {
        this.#leaving--
        this.#beginWaiting()
      }),
    ))
  }

  #fail(attempt: Attempt, fault: SmtpFault): void {
    if (isSessionRefusal(fault) && this.#attempts.has(attempt)) attempt.refusal = { fault, at: this.now() }
    else this.#end(attempt, { _tag: "fault", fault })
  }

  /**
   * Decides on refused sessions: with others open the server grants no more, and their messages may leave later; with none it
   * refuses all, which is its fault. While others are being opened that is not known yet; after a second it seems to let them
   * wait.
   */
  #judgeRefusals(): void {
    const refused = [...this.#attempts].filter(({ refusal }) => refusal !== undefined)
    if (refused.length === 0 || this.#isClosing) return
    let opening = 0
    let open = this.#idle.filter(({ session }) => session.isOpen).length
    for (const attempt of this.#attempts) {
      if (attempt.session !== undefined) open++
      else if (attempt.opening !== undefined) opening++
    }
    const isLong = refused.some(({ refusal }) => this.now() - refusal!.at >= judgeMillis)
    if (open > 0 || (opening > 0 && isLong)) {
      this.granted.refuse(open + opening)
      for (const attempt of refused) this.#end(attempt, { _tag: "crowded", progress: attempt.progress })
    } else if (opening === 0) {
      for (const attempt of refused) this.#end(attempt, { _tag: "fault", fault: attempt.refusal!.fault })
    }
  }

  #end(attempt: Attempt, how: AttemptEnd): void {
    if (!this.#attempts.delete(attempt)) return
    if (attempt.session?.isBusy === true) {
      attempt.session.destroy()
      this.#leave(Effect.sleep(noticed))
    }
    const wasOpening = attempt.opening !== undefined
    attempt.opening?.interruptUnsafe()
    if (attempt.hasTurn) this.#busy--
    else this.#waiting = this.#waiting.filter((other) => other !== attempt)
    attempt.done(how)
    if (wasOpening) this.#judgeRefusals()
    this.#beginWaiting()
  }
}
