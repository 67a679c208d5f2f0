import { Context, Deferred, Duration, Effect, Exit, Layer, Schema, Semaphore } from "effect"
import { type WorkerProcess, workerProcess, WorkFailed } from "../store/WorkerProcess.ts"
import type { ComposeResult } from "./Composition.ts"
import type { Composed, Email } from "../text/Email.ts"

/** An e-mail could not be composed, so nothing was sent. */
export class NotComposed extends Schema.TaggedError<NotComposed>()("NotComposed", {
  /** True if another attempt would fail in the same way, because the message is at fault. */
  final: Schema.Boolean,
  /** A sentence about the message for people. */
  reason: Schema.String,
}) {}

interface ComposerOptions {
  /** Time limit of an ordinary message. Default: 2 seconds. */
  readonly deadline?: Duration.Input
  /** Time limit of a large message, and of the second attempt of any message. Default: 5 seconds. */
  readonly largeDeadline?: Duration.Input
  /** The module that the processes run. Default: `compose.process.ts`. */
  readonly program?: URL
}

/** Messages with more text are large. Mail programs cut off HTML at about 100 kB. Unit: characters. */
const largeLength = 131_072

/** Timeout of the composition of one message, including the wait for other connections. */
const patience = Duration.seconds(40)

/** Timeout of `composeAhead`. */
const aheadPatience = Duration.seconds(10)

/** Heap limit of a process, which is enough for 1 MB of HTML with 100,000 elements. */
const maxHeapMiB = 96

const lengthOf = ({ html = "", preheader = "", subject, text = "" }: Email): number =>
  html.length + text.length + preheader.length + subject.length

/** Composes the e-mails of a connection. */
export interface Composing {
  /**
   * Composes an e-mail that is needed now. E-mails that are queued for composition go to a process together, as long as
   * the group is not larger than one ordinary e-mail. Fails with `NotComposed`.
   */
  readonly compose: (email: Email) => Effect.Effect<Composed, NotComposed>
  /**
   * Composes e-mails that will be needed soon, in one request. Returns undefined for each e-mail that could not be
   * composed; call `compose` to learn why. Accepts up to `aheadAtMost` e-mails, each of up to `aheadLength` characters.
   */
  readonly composeAhead: (emails: ReadonlyArray<Email>) => Effect.Effect<ReadonlyArray<Composed | undefined>>
}

/** Maximum number of e-mails of one `composeAhead`. A process signs this many in a small part of its deadline. */
export const aheadAtMost = 50

/**
 * Maximum length of an e-mail for `composeAhead`. Fifty of them are not larger than six large e-mails. Unit:
 * characters.
 */
export const aheadLength = 16_384

/**
 * Composes e-mails in worker processes with a deadline, because the cost of composition depends on HTML that callers
 * send.
 *
 *     ordinary message ──► process A, 2 s ──deadline, out of memory──┐
 *     large message ─────► process B, 5 s ──deadline, out of memory──┴─► process B, 5 s ──► the message fails
 *
 * If composition fails in a process, it is retried once in the process for large messages, which has more time and
 * memory. After the second failure the message fails for good, because composition is deterministic.
 */
export class Composer extends Context.Service<Composer, {
  /** Returns the composer of one connection. Connections take turns. */
  readonly forConnection: Effect.Effect<Composing>
}>()("parlance/delivery/Composer") {
  static readonly layerWith = (options: ComposerOptions) =>
    Layer.effect(
      Composer,
      Effect.gen(function* () {
        const program = options.program ?? new URL("./compose.process.ts", import.meta.url)
        const largeDeadline = Duration.fromInputUnsafe(options.largeDeadline ?? "5 seconds")
        const processWith = (deadline: Duration.Input) =>
          workerProcess<ReadonlyArray<Email>, ReadonlyArray<ComposeResult>>({
            program,
            purpose: "composes e-mails",
            deadline,
            maxHeapMiB,
          })
        const ordinary = yield* processWith(options.deadline ?? "2 seconds")
        const large = yield* processWith(largeDeadline)

        const forConnection = Effect.gen(function* () {
          const inOrdinary = yield* takingTurns(ordinary)
          const inLarge = yield* takingTurns(large)
          const compose = (email: Email) =>
            (lengthOf(email) > largeLength ? inLarge.one : inOrdinary.one)(email).pipe(
              Effect.catchIf(isWorthAnotherTry, () => inLarge.one(email)),
              Effect.mapError((failure) => faultOf(failure, email, largeDeadline)),
              Effect.flatMap((composition) =>
                composition._tag === "composed"
                  ? Effect.succeed(composition.mail)
                  : Effect.fail(new NotComposed({ final: true, reason: `The message ${composition.reason}` }))
              ),
              Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.fail(notReached) }),
            )
          const composeAhead = (emails: ReadonlyArray<Email>) =>
            inOrdinary.all(emails).pipe(
              Effect.map((results) => results.map((result) => result._tag === "composed" ? result.mail : undefined)),
              Effect.timeout(aheadPatience),
              Effect.catch(() => Effect.succeed(emails.map(() => undefined))),
            )
          return { compose, composeAhead }
        })
        return Composer.of({ forConnection })
      }),
    )

  static readonly layer = this.layerWith({})
}

/** An e-mail that is queued for composition, and its result. */
interface Waiting {
  readonly email: Email
  readonly result: Deferred.Deferred<ComposeResult, WorkFailed>
}

/** The first e-mails that together are not larger than an ordinary e-mail: at least one e-mail. */
const groupOf = (waiting: ReadonlyArray<Waiting>): ReadonlyArray<Waiting> => {
  let length = 0
  const end = waiting.findIndex(({ email }, place) => (length += lengthOf(email)) > largeLength && place > 0)
  return end === -1 ? waiting : waiting.slice(0, end)
}

/**
 * Composes e-mails in a process. Each turn composes all queued e-mails that fit into one group. If a group fails, each
 * of its e-mails is composed again alone, because another e-mail of the group may be at fault.
 */
const takingTurns = ({ ask }: WorkerProcess<ReadonlyArray<Email>, ReadonlyArray<ComposeResult>>) =>
  Effect.map(Semaphore.make(1), (turn) => {
    let waiting: ReadonlyArray<Waiting> = []
    const leave = (group: ReadonlyArray<Waiting>) => waiting = waiting.filter((one) => !group.includes(one))
    const alone = (email: Email) => turn.withPermits(1)(Effect.map(ask([email]), ([result]) => result!))
    const answerOf = (group: ReadonlyArray<Waiting>, exit: Exit.Exit<ReadonlyArray<ComposeResult>, WorkFailed>) =>
      group.forEach(({ email, result }, place) =>
        Deferred.doneUnsafe(
          result,
          Exit.isSuccess(exit)
            ? Effect.succeed(exit.value[place]!)
            : group.length > 1
            ? alone(email)
            : Effect.failCause(exit.cause),
        )
      )
    const takeTurn = (own: Waiting) =>
      Effect.suspend(() => {
        // The turn of another e-mail has composed this one.
        if (!waiting.includes(own)) return Effect.void
        const group = groupOf([own, ...waiting.filter((one) => one !== own)])
        leave(group)
        return ask(group.map(({ email }) => email)).pipe(
          Effect.onExit((exit) => Effect.sync(() => answerOf(group, exit))),
          Effect.ignore,
        )
      })
    const one = (email: Email) =>
      Effect.suspend(() => {
        const own: Waiting = { email, result: Deferred.makeUnsafe() }
        waiting = [...waiting, own]
        return turn.withPermits(1)(takeTurn(own)).pipe(
          Effect.andThen(Deferred.await(own.result)),
          Effect.onInterrupt(() => Effect.sync(() => leave([own]))),
        )
      })
    return { one, all: (emails: ReadonlyArray<Email>) => turn.withPermits(1)(ask(emails)) }
  })

const isWorthAnotherTry = ({ reason }: WorkFailed): boolean => reason === "deadline" || reason === "ended"

const notReached = new NotComposed({
  final: false,
  reason: `The message was not composed within ${Duration.format(patience)}, because many others are being composed`,
})

/** Returns the error of an e-mail whose composition did not complete. */
const faultOf = ({ detail, reason }: WorkFailed, { html, text }: Email, deadline: Duration.Duration): NotComposed => {
  const remedy = html === undefined
    ? "Shorten its text"
    : `Simplify its HTML${text === undefined ? ", or add a `text` variable so that none is made from the HTML" : ""}`
  switch (reason) {
    case "deadline":
      return new NotComposed({
        final: true,
        reason: `The message takes longer than ${Duration.format(deadline)} to compose. ${remedy}`,
      })
    case "ended":
      return new NotComposed({ final: true, reason: `The message needs too much memory to compose. ${remedy}` })
    case "threw":
      return new NotComposed({ final: true, reason: `The message cannot be composed: ${detail}` })
    case "start":
    case "stalled":
      return new NotComposed({ final: false, reason: detail })
  }
}
