import { validMillis } from "./AnswerValidity.ts"
import type { Suppression } from "../suppressions/Suppression.ts"
import type { Claimed } from "./Outbox.ts"

/** How long the answer of a check is used again. Unit: milliseconds. */
export const freshMillis = 50

/** Messages that are checked ahead, together with one that is to leave now. */
export const aheadAtMost = 49

/** Most questions about one message before it begins. More would delay its session. */
const questionsMax = 5

/** The answer about a message: its suppression, nothing, or that the list could not be read. */
export type CheckAnswer =
  | { readonly _tag: "checked"; readonly found: Suppression | undefined }
  | { readonly _tag: "notChecked" }

/** Messages that are asked about together. */
interface Group {
  readonly askedAt: number
  /** The validity of answers when the question was put: see `AnswerValidity`. */
  readonly epoch: number
  /** In the order of its messages; undefined while they are being asked about. */
  answers: ReadonlyArray<CheckAnswer> | undefined
  /** To be called once there are answers, or once it is known that there will be none. */
  readonly waiting: Array<() => void>
  /** Messages that have been answered by it. */
  used: number
}

interface Place {
  readonly group: Group
  readonly index: number
}

/**
 * Checks messages of a lane for suppressions right before they leave. A question includes the messages that are likely to leave
 * next, so that most messages find an answer that is a few milliseconds old. If it cannot be answered, each message is asked
 * about alone, because the entry of another one may be at fault. Times are milliseconds of a clock that does not jump.
 */
export class SuppressionChecks {
  #places = new WeakMap<Claimed, Place>()
  #last: Group | undefined

  constructor(
    /** Puts a question. Calls back with the answers in the order of the messages, or with nothing. */
    private readonly ask: (
      messages: ReadonlyArray<Claimed>,
      onAnswer: (found: ReadonlyArray<Suppression | undefined> | undefined) => void,
    ) => void,
    private readonly now: () => number,
    private readonly epoch: () => number = () => 0,
  ) {}

  /** Calls `onAnswer` with the answer about `message`: at once if there is a fresh one. */
  check(message: Claimed, ahead: ReadonlyArray<Claimed>, onAnswer: (answer: CheckAnswer) => void): void {
    const { group, index } = this.#freshPlace(message) ?? this.#askAbout(message, ahead)
    group.used++
    const answer = () =>
      group.answers === undefined ? this.check(message, [], onAnswer) : onAnswer(group.answers[index]!)
    if (group.answers === undefined) group.waiting.push(answer)
    else answer()
  }

  /**
   * Calls `onAnswer` with an answer about `message` that is valid at the time of the call: at once if the last one still is. To
   * be called right before the message begins to leave.
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
      (asked) => asked._tag === "notChecked" ? onAnswer(asked) : this.begin(message, onAnswer, questionsLeft - 1),
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
    // Half as many again as left in time after the last question.
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
