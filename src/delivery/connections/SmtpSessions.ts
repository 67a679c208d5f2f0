import { Clock, Duration, Effect, Fiber, FiberSet } from "effect"
import type { Composed } from "../../domain/Email.ts"
import { GrantedSessions } from "./GrantedSessions.ts"
import { isOfSessions, type SmtpFault } from "./SmtpReplies.ts"
import { newProgress, type Progress, type SmtpSession } from "./SmtpSession.ts"

/** Longest a message may take. Unit: milliseconds. */
const totalMillis = 30_000

/** A session is closed after this many messages, as servers count them, and after this much idleness. */
const maxMessages = 500
const idleMillis = 30_000

/** Between two searches for messages that take too long and for idle sessions. */
const lookEvery = Duration.seconds(1)

/** How an attempt ended; `late`: after 30 seconds, `closed`: with its connection. */
export type AttemptEnd =
  | { readonly _tag: "sent" }
  | { readonly _tag: "fault"; readonly fault: SmtpFault }
  | { readonly _tag: "late" | "closed" | "yielded"; readonly progress: Progress }

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
  readonly startedAt: number
  readonly done: (end: AttemptEnd) => void
  /** Whether one of the sessions is its own. */
  hasTurn: boolean
  session?: SmtpSession
  opening?: Fiber.Fiber<void>
}

/** The sessions with one SMTP server. */
export interface SmtpSessions {
  /**
   * Sends a message through a session that is idle, or a new one. Messages beyond the number of sessions wait for their turn, as
   * does one whose session the server refuses while others are open (`GrantedSessions`). When `giveUp` is aborted, the attempt ends as `yielded`, unless part of the message has been sent: then it may arrive.
   */
  readonly send: (mail: Composed, giveUp: AbortSignal | undefined) => Effect.Effect<AttemptEnd>
}

/** Makes up to `connections` sessions, which are kept from message to message and closed with the scope. */
export const makeSessions = Effect.fnUntraced(function* (
  open: Effect.Effect<SmtpSession, SmtpFault>,
  connections: number,
) {
  const clock = yield* Clock.Clock
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const attempts = new Set<Attempt>()
  const waiting: Array<Attempt> = []
  const idle: Array<Kept> = []
  const granted = new GrantedSessions(connections)
  let busy = 0
  let isClosing = false
  const now = () => clock.currentTimeMillisUnsafe()

  /** The session used last, so that those in excess fall idle. */
  const takeIdle = (): Kept | undefined => {
    for (let kept = idle.pop(); kept !== undefined; kept = idle.pop()) {
      if (kept.session.isOpen) return kept
    }
    return undefined
  }

  const begin = (attempt: Attempt): void => {
    busy++
    attempt.hasTurn = true
    const kept = takeIdle()
    if (kept === undefined) beginNew(attempt)
    else sendOver(attempt, kept)
  }

  const beginNew = (attempt: Attempt): void => {
    attempt.opening = fork(Effect.match(open, {
      onFailure: (fault) => {
        if (!putBack(attempt, fault)) end(attempt, { _tag: "fault", fault })
      },
      onSuccess: (session) =>
        attempts.has(attempt) ? sendOver(attempt, { session, messages: 0, since: 0 }) : session.destroy(),
    }))
  }

  const sendOver = (attempt: Attempt, { messages, session }: Kept): void => {
    attempt.session = session
    session.send(attempt.mail, attempt.progress, (fault) => {
      const isLast = messages + 1 >= maxMessages || isClosing || (fault !== undefined && isOfSessions(fault))
      if (session.isOpen && isLast) Effect.runFork(session.quit)
      else if (session.isOpen) idle.push({ session, messages: messages + 1, since: now() })
      // The server had ended a kept session meanwhile, and not a byte of the message had gone out.
      const isStale = fault !== undefined && messages > 0 && !attempt.progress.began && fault.cause === undefined &&
        (fault.code === undefined || fault.code === 421)
      if (isStale) return beginNew(attempt)
      if (fault !== undefined && putBack(attempt, fault)) return
      end(attempt, fault === undefined ? { _tag: "sent" } : { _tag: "fault", fault })
    })
  }

  /** Lets an attempt wait for another session if the server refused its own and there are others. Returns whether it waits. */
  const putBack = (attempt: Attempt, fault: SmtpFault): boolean => {
    const others = busy - 1 + idle.filter(({ session }) => session.isOpen).length
    if (!attempts.has(attempt) || !isOfSessions(fault) || others === 0) return false
    granted.refuse(others, now())
    busy--
    attempt.progress.isReady = false
    waiting.unshift(Object.assign(attempt, { hasTurn: false, session: undefined, opening: undefined }))
    beginWaiting()
    return true
  }

  const beginWaiting = (): void => {
    while (busy < granted.count(now())) {
      const next = waiting.shift()
      if (next === undefined) return
      begin(next)
    }
  }

  const end = (attempt: Attempt, how: AttemptEnd): void => {
    if (!attempts.delete(attempt)) return
    if (attempt.session?.isBusy === true) attempt.session.destroy()
    attempt.opening?.interruptUnsafe()
    if (attempt.hasTurn) {
      busy--
      beginWaiting()
    } else waiting.splice(waiting.indexOf(attempt), 1)
    attempt.done(how)
  }

  const send = (mail: Composed, giveUp: AbortSignal | undefined): Effect.Effect<AttemptEnd> =>
    Effect.callback((resume) => {
      const progress = newProgress()
      const yieldNow = () => {
        progress.isGivenUp = true
        if (!progress.began) end(attempt, { _tag: "yielded", progress })
      }
      const attempt: Attempt = {
        mail,
        progress,
        startedAt: now(),
        hasTurn: false,
        done: (how) => {
          giveUp?.removeEventListener("abort", yieldNow)
          resume(Effect.succeed(how))
        },
      }
      attempts.add(attempt)
      giveUp?.addEventListener("abort", yieldNow)
      if (giveUp?.aborted === true) yieldNow()
      else if (busy < granted.count(now())) begin(attempt)
      else waiting.push(attempt)
      return Effect.sync(() => end(attempt, { _tag: "closed", progress }))
    })

  const look = Effect.suspend(() => {
    const at = now()
    beginWaiting()
    for (const attempt of attempts) {
      if (at - attempt.startedAt >= totalMillis) end(attempt, { _tag: "late", progress: attempt.progress })
    }
    const stale = idle.filter(({ session, since }) => !session.isOpen || at - since > idleMillis)
    for (const one of stale) idle.splice(idle.indexOf(one), 1)
    return Effect.forEach(stale, ({ session }) => session.quit, { discard: true, concurrency: "unbounded" })
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(lookEvery), look)))

  yield* Effect.addFinalizer(() => {
    isClosing = true
    for (const attempt of [...attempts]) end(attempt, { _tag: "closed", progress: attempt.progress })
    return Effect.forEach(idle.splice(0), ({ session }) => session.quit, { concurrency: "unbounded", discard: true })
  })
  return { send } satisfies SmtpSessions
})
