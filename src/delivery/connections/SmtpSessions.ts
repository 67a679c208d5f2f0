import { Clock, Duration, Effect, Fiber, FiberSet } from "effect"
import type { Composed } from "../../text/Email.ts"
import { MayBegin } from "../MayBegin.ts"
import { GrantedSessions } from "./GrantedSessions.ts"
import { isSessionRefusal, type SmtpFault } from "./SmtpReplies.ts"
import type { SmtpSession } from "./SmtpSession.ts"
import type { SmtpTimes } from "./SmtpTimes.ts"

/**
 * A session is closed after this many messages, because servers limit them, or after this idle time. Unit:
 * milliseconds.
 */
const maxMessages = 500
const idleMillis = 30_000

/** If the server needs longer to accept the addresses, `MayBegin` is called again. Unit: milliseconds. */
const freshMillis = 1_000

/** Maximum time until a session refusal is judged. Unit: milliseconds. */
const judgeMillis = 1_000

/** How long a server may need to notice that a session was closed. */
const noticed = Duration.millis(250)

/** Interval of the search for slow messages and idle sessions. */
const lookEvery = Duration.seconds(1)

/** The progress of a message. */
interface Progress {
  /** The server has accepted sender and recipient, so part of the message or all of it may have been sent. */
  began: boolean
  /** A session was ready for the message. A timeout after this belongs to the recipient. */
  isReady: boolean
}

/**
 * The end of an attempt. `late`: the server exceeded its timeout. `closed`: the connection was closed. `left`: the
 * connection was changed or paused. `yielded`: another message needed the session. `crowded`: the server allows no
 * additional session.
 */
export type AttemptEnd =
  | { readonly _tag: "sent"; readonly reply: string }
  | { readonly _tag: "fault"; readonly fault: SmtpFault }
  | { readonly _tag: "late" | "closed" | "yielded" | "left" | "crowded"; readonly progress: Progress }

/** A session, and the number of messages that it has sent. */
interface Kept {
  readonly session: SmtpSession
  readonly messages: number
  readonly since: number
}

/** A message from its wait for a session to the server's last reply. */
interface Attempt {
  readonly mail: Composed
  readonly progress: Progress
  readonly mayBegin: MayBegin
  /** Whether the caller needs the session for another message. */
  isGivenUp: boolean
  /** When the attempt exceeds its timeout; Infinity while it has no session. */
  endsAt: number
  readonly done: (end: AttemptEnd) => void
  /** Whether the attempt occupies one of the sessions. */
  hasTurn: boolean
  session?: SmtpSession | undefined
  opening?: Fiber.Fiber<void> | undefined
  /** The server refused a session for this attempt. The meaning is unknown until other sessions are open or refused. */
  refusal?: { readonly fault: SmtpFault; readonly at: number }
}

/** The sessions with one SMTP server. */
interface SmtpSessions {
  /**
   * Sends a message through an idle session or a new session. If all sessions are in use, the message waits. If
   * `giveUp` is aborted, the attempt ends as `yielded`, unless part of the message has been sent: then it continues and
   * may arrive.
   */
  readonly send: (mail: Composed, giveUp: AbortSignal | undefined) => Effect.Effect<AttemptEnd>
  /** Ends attempts that have not sent any part of their message, as `left`. */
  readonly leave: () => void
  /** Number of sessions that the server currently allows, from 1 to the maximum of the connection. */
  readonly granted: () => number
}

/** Opens up to `connections` sessions on demand. They are kept between messages and close with the scope. */
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

/** The open and opening sessions, and the attempts that use them or wait. Times are monotonic milliseconds. */
class Pool {
  readonly granted: GrantedSessions
  readonly #attempts = new Set<Attempt>()
  #waiting: Array<Attempt> = []
  #idle: Array<Kept> = []
  /** Attempts that occupy a session, and closed sessions that the server may still count. */
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
        // Keeps a session that is being opened, because other messages can use it.
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

  /** Ends attempts that exceed their timeout, and closes sessions that have been idle too long. */
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

  /** Returns the session that was used last, so that surplus sessions become idle and close. */
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

  /** Sends a message over a session if `MayBegin` permits it. */
  #sendOver(attempt: Attempt, kept: Kept): void {
    attempt.session = kept.session
    attempt.mayBegin((may) => {
      // The attempt may have ended before `MayBegin` decided.
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
      done: (end) => {
        attempt.session = undefined
        const isSent = typeof end === "string"
        const isLast = messages + 1 >= maxMessages || this.#isClosing || (!isSent && isSessionRefusal(end))
        if (session.isOpen && isLast) this.#leave(session.quit)
        else this.#keep({ session, messages: messages + 1, since: this.now() })
        if (isSent) return this.#end(attempt, { _tag: "sent", reply: end })
        // The server had closed a kept session before it received any byte of the message.
        const isStale = messages > 0 && !attempt.progress.began && end.cause === undefined &&
          (end.code === undefined || end.code === 421)
        if (isStale) return this.#beginNew(attempt)
        this.#fail(attempt, end)
        this.#judgeRefusals()
      },
    })
  }

  /** Sends the message body, if the message may still begin. */
  #beginBody(attempt: Attempt, askedAt: number, go: () => void): void {
    const begin = (may: boolean) => {
      if (!this.#attempts.has(attempt)) return
      // Its session ends too, because the server is waiting for the message.
      if (!may) return this.#end(attempt, { _tag: "yielded", progress: attempt.progress })
      attempt.progress.began = true
      attempt.endsAt = this.now() + this.times.message
      go()
    }
    if (this.now() - askedAt < freshMillis) begin(true)
    else attempt.mayBegin(begin)
  }

  /** Counts a closed session as in use until `ended` completes, because the server still counts it. */
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
   * Decides the meaning of refused sessions. If other sessions are open, the server allows no more sessions, and the
   * messages are sent later. If no session is open, the server refuses all sessions, which is a failure of the
   * connection. While other sessions are being opened, the decision waits, for at most 1 second; after that, the server
   * seems to delay additional sessions.
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
