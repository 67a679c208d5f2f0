import { Context, Deferred, Duration, Effect, Exit, Layer, Schema, Semaphore } from "effect"
import { type WorkerProcess, workerProcess, WorkFailed } from "../store/WorkerProcess.ts"
import type { ComposeResult } from "./Composition.ts"
import type { Composed, Email } from "../domain/Email.ts"

/** An e-mail could not be composed, so nothing was sent. */
export class NotComposed extends Schema.TaggedError<NotComposed>()("NotComposed", {
  /** True when another attempt would end the same way: the message is at fault. */
  final: Schema.Boolean,
  /** A sentence about the message, for a person. */
  reason: Schema.String,
}) {}

export interface ComposerOptions {
  /** Time limit of an ordinary message. Default 2 seconds. */
  readonly deadline?: Duration.Input
  /** Time limit of a large message, and of the second try of any message. Default 5 seconds. */
  readonly largeDeadline?: Duration.Input
  /** The module the processes run. Default `compose.process.ts`. */
  readonly program?: URL
}

/** Messages with more text than this are large. Mail programs cut HTML off at about 100 kB. Unit: characters. */
const largeLength = 131_072

/** Longest time until a message is composed, including the wait for other connections. */
const patience = Duration.seconds(40)

/** Longest time until a group is composed ahead. */
const aheadPatience = Duration.seconds(10)

/** Heap limit of a process, which is enough for 1 MB of HTML with 100,000 elements. */
const maxHeapMiB = 96

const lengthOf = ({ html = "", preheader = "", subject, text = "" }: Email): number =>
  html.length + text.length + preheader.length + subject.length

/** Composes the e-mails of a connection. */
export interface Composing {
  /**
   * Composes an e-mail that is needed now. Those that wait go to a process together, as long as they are no larger than one
   * ordinary e-mail may be.
   */
  readonly compose: (email: Email) => Effect.Effect<Composed, NotComposed>
  /**
   * Composes e-mails that will be needed soon, in one request; undefined for those that could not be composed. Their faults are
   * found by `compose`. Give it `aheadAtMost` e-mails of up to `aheadLength` characters.
   */
  readonly composeAhead: (emails: ReadonlyArray<Email>) => Effect.Effect<ReadonlyArray<Composed | undefined>>
}

/** E-mails that are composed ahead in one request: a process signs as many in a small part of its deadline. */
export const aheadAtMost = 50

/** The most text of an e-mail that is composed ahead: together they are no larger than six large ones. Unit: characters. */
export const aheadLength = 16_384

/**
 * Composes e-mails in worker processes with a deadline, because the cost of composition depends on HTML that callers send.
 *
 *     ordinary message ──► process A, 2 s ──deadline, out of memory──┐
 *     large message ─────► process B, 5 s ──deadline, out of memory──┴─► process B, 5 s ──► the message fails
 *
 * A message that fails in a process is tried once more, in the process for large ones, which has more time and memory. After that it fails for good, since composition is deterministic.
 */
export class Composer extends Context.Service<Composer, {
  /** Composes the e-mails of one connection. Connections take turns. */
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

/** An e-mail that waits for its turn, and its answer. */
interface Waiting {
  readonly email: Email
  readonly result: Deferred.Deferred<ComposeResult, WorkFailed>
}

/** The first e-mails, which are together no larger than an ordinary one may be: one at least. */
const groupOf = (waiting: ReadonlyArray<Waiting>): ReadonlyArray<Waiting> => {
  let length = 0
  const end = waiting.findIndex(({ email }, place) => (length += lengthOf(email)) > largeLength && place > 0)
  return end === -1 ? waiting : waiting.slice(0, end)
}

/**
 * Composes e-mails in a process: in one turn all that wait, if they are short enough. If a group fails, each of its e-mails is
 * asked for again alone, because the fault may be another's.
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
        // Composed in the turn of another one.
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

/** The error of an e-mail whose composition did not complete. */
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
