import { validMillis } from "./AnswerValidity.ts"
import type { Suppression } from "../suppressions/Suppression.ts"
import type { Claimed } from "./Outbox.ts"

/** How long the answer to a check is reused for other checks. Unit: milliseconds. */
export const freshMillis = 50

/** Maximum number of messages that are checked ahead, together with a message that is about to be sent. */
export const aheadAtMost = 49

/** Maximum number of queries about one message before it begins. More queries would delay its session. */
const questionsMax = 5

/** The answer about a message: its suppression, if any, or that the list could not be read. */
export type CheckAnswer =
  | { readonly _tag: "checked"; readonly found: Suppression | undefined }
  | { readonly _tag: "notChecked" }

/** Messages that are checked with one query. */
interface Group {
  readonly askedAt: number
  /** The epoch of `AnswerValidity` at the time of the query. */
  readonly epoch: number
  /** In the order of the messages; undefined until the query is answered. */
  answers: ReadonlyArray<CheckAnswer> | undefined
  /** Called when the query is answered or has failed. */
  readonly waiting: Array<() => void>
  /** Number of checks that used its answers. */
  used: number
}

interface Place {
  readonly group: Group
  readonly index: number
}

/**
 * Checks messages of a lane for suppressions right before they are sent. Each query includes the messages that are
 * likely to be sent next, so that most messages find an answer that is a few milliseconds old. If a query fails, each
 * message is checked alone, because the data of another message may be the cause. Times are milliseconds of a monotonic
 * clock.
 */
export class SuppressionChecks {
  #places = new WeakMap<Claimed, Place>()
  #last: Group | undefined

  constructor(
    /**
     * Queries the list. Calls back with the answers in the order of the messages, or with undefined if the query
     * failed.
     */
    private readonly ask: (
      messages: ReadonlyArray<Claimed>,
      onAnswer: (found: ReadonlyArray<Suppression | undefined> | undefined) => void,
    ) => void,
    private readonly now: () => number,
    private readonly epoch: () => number = () => 0,
  ) {}

  /** Calls `onAnswer` with the answer about `message`: synchronously if an answer of the last 50 ms exists. */
  check(message: Claimed, ahead: ReadonlyArray<Claimed>, onAnswer: (answer: CheckAnswer) => void): void {
    const { group, index } = this.#freshPlace(message) ?? this.#askAbout(message, ahead)
    group.used++
    const answer = () =>
      group.answers === undefined ? this.check(message, [], onAnswer) : onAnswer(group.answers[index]!)
    if (group.answers === undefined) group.waiting.push(answer)
    else answer()
  }

  /**
   * Calls `onAnswer` with an answer about `message` that is valid at the time of the call: synchronously if the last
   * answer is still valid. Call this right before the message begins.
   */
  begin(message: Claimed, onAnswer: (answer: CheckAnswer) => void, questionsLeft = questionsMax): void {
    const place = this.#places.get(message)
    const answer = place !== undefined && this.#isWithin(place.group, validMillis)
      ? place.group.answers?.[place.index]
      : undefined
    if (answer !== undefined) return onAnswer(answer)
    if (questionsLeft === 0) return onAnswer({ _tag: "notChecked" })
    this.check(
      message,
      [],
      (later) => later._tag === "notChecked" ? onAnswer(later) : this.begin(message, onAnswer, questionsLeft - 1),
    )
  }

  #isWithin({ askedAt, epoch }: Group, millis: number): boolean {
    return epoch === this.epoch() && this.now() - askedAt <= millis
  }

  #freshPlace(message: Claimed): Place | undefined {
    const place = this.#places.get(message)
    return place !== undefined && this.#isWithin(place.group, freshMillis) ? place : undefined
  }

  #askAbout(message: Claimed, ahead: ReadonlyArray<Claimed>): Place {
    // Includes 1.5 times as many messages ahead as there were checks that used the answers of the last query.
    const wanted = ahead.slice(0, Math.ceil(1.5 * (this.#last?.used ?? 1)))
    const messages = [message, ...wanted.filter((one) => one !== message && this.#freshPlace(one) === undefined)]
    const group: Group = { askedAt: this.now(), epoch: this.epoch(), answers: undefined, waiting: [], used: 0 }
    this.#last = group
    messages.forEach((one, index) => this.#places.set(one, { group, index }))
    this.ask(messages, (found) => {
      if (found !== undefined) group.answers = found.map((found) => ({ _tag: "checked", found }))
      else if (messages.length === 1) group.answers = [{ _tag: "notChecked" }]
      else for (const one of messages) this.#places.delete(one)
      for (const answer of group.waiting.splice(0)) answer()
    })
    return { group, index: 0 }
  }
}
