import { isAboutAddress, refusalClass } from "./RefusalClass.ts"

/** Consecutive refusals for one reason after which the platform is suspected. */
const inRow = 20

/** Refusals among the last `windowSize` messages, for any reason, after which the platform is suspected. */
const inWindow = 50
const windowSize = 100

/** Consecutive refusals after which a recipient domain counts as one refusal, whatever its earlier answers. */
const inDomain = 10

/** Answers that are needed to decide whether the platform or a domain refuses. */
const evidenceNeeded = 10

/** Messages to suspected domains that are sent before others are looked up again, if there is no other domain. */
const patience = 10

/** The reason why a connection is braked. */
export interface Trip {
  /** In a sentence for people. */
  readonly reason: string
}

/** The memory of a brake, as it is stored with a lane. */
export interface BrakeState {
  /**
   * The recipient domains of the last messages, at most 100, the latest last: after `x` if refused, after `.` if
   * accepted.
   */
  readonly answers: ReadonlyArray<string>
  /** Refusals of one class since the last other answer; null after an acceptance. */
  readonly run: { readonly class: string; readonly count: number } | null
  /** The last refusal. */
  readonly reason: string
}

/** The answer to a message. */
interface Answer {
  /** "" if unknown. */
  readonly domain: string
  readonly isRefused: boolean
}

/**
 * Decides when the platform refuses so much that sending on would only burn messages. It is suspected after
 *
 *     20 refusals in a row with one reason that is not about the recipient's address, or
 *     50 refusals of the last 100 messages
 *
 * The brake trips if the refusals came from recipients at several domains. Otherwise a few domains may refuse, such as one that
 * is gone, and no message to them (`suspects`) is to be sent until messages to other domains have been answered.
 * Where there are no others to send, call `noOthers`. Only final refusals and acceptances count. Tripped, a brake stays so: start
 * with another one when a person confirms that the cause is removed.
 */
export class Brake {
  private answers: ReadonlyArray<Answer>
  /** Refusals among the answers. */
  private refusals: number
  private run: BrakeState["run"]
  private reason: string
  private tripped: Trip | undefined
  private suspected: ReadonlyArray<string> = []
  /** Refusals by suspected domains that are tolerated because there was no other domain. */
  private letPass = 0

  /** `state` comes from an earlier owner of the lane. */
  constructor(state: BrakeState | null = null) {
    // Earlier releases stored no domains, so the domains of their answers are unknown.
    this.answers = (state?.answers ?? []).map((text) => ({ domain: text.slice(1), isRefused: text[0] === "x" }))
    this.refusals = refusalsOf(this.answers)
    this.run = state?.answers === undefined ? null : state.run
    this.reason = state?.reason ?? ""
    this.decide()
  }

  /** Set once the connection must stop sending. */
  get trip(): Trip | undefined {
    return this.tripped
  }

  /** The recipient domains that get no messages until others have answered; mostly none. */
  get suspects(): ReadonlyArray<string> {
    return this.suspected
  }

  /** The state to store; null without refusals. */
  get state(): BrakeState | null {
    if (this.refusals === 0) return null
    const answers = this.answers.map(({ domain, isRefused }) => (isRefused ? "x" : ".") + domain)
    return { answers, run: this.run, reason: this.reason }
  }

  accepted(domain: string): void {
    this.add({ domain, isRefused: false })
    this.run = null
    this.decide()
  }

  refused(domain: string, reason: string): void {
    this.add({ domain, isRefused: true })
    this.reason = reason
    if (isAboutAddress(reason)) this.run = null
    else {
      const kind = refusalClass(reason)
      this.run = { class: kind, count: this.run?.class === kind ? this.run.count + 1 : 1 }
    }
    if (this.letPass > 0) this.letPass--
    this.decide()
  }

  /**
   * Call it when only suspected domains have messages. Trips, unless one of the last messages to another domain was
   * accepted: then it allows a few more messages to the suspects.
   */
  noOthers(): void {
    if (this.suspected.length === 0) return
    const suspects = new Set(this.suspected)
    if (this.answers.some(({ domain, isRefused }) => !isRefused && !suspects.has(domain))) this.letPass = patience
    else this.pull()
    this.suspected = []
  }

  private add(answer: Answer): void {
    const gone = this.answers.length < windowSize ? undefined : this.answers[0]
    this.answers = [...(gone === undefined ? this.answers : this.answers.slice(1)), answer]
    this.refusals += Number(answer.isRefused) - Number(gone?.isRefused ?? false)
  }

  private decide(): void {
    if (this.tripped !== undefined) return
    const row = this.run !== null && this.run.count >= inRow ? this.answers.slice(-this.run.count) : []
    const isWindowFull = this.refusals >= inWindow
    const verdicts = [
      ...(row.length > 0 ? [verdictOn(row)] : []),
      ...(isWindowFull ? [verdictOn(this.answers)] : []),
    ]
    if (verdicts.includes("platform")) return this.pull()
    const isDoubtful = verdicts.includes("unknown") && this.letPass === 0
    this.suspected = isDoubtful ? refusingDomains(isWindowFull ? this.answers : row) : []
    // Without known domains, sending cannot be limited to other domains.
    if (isDoubtful && this.suspected.length === 0) this.pull()
  }

  private pull(): void {
    const refused = this.refusals
    this.suspected = []
    this.tripped = this.run !== null && this.run.count >= inRow
      ? { reason: `${this.run.count} messages in a row were refused for one reason. ${this.reason}` }
      : {
        reason:
          `${refused} of the last ${this.answers.length} messages were refused, the last one with: ${this.reason}`,
      }
  }
}

const refusalsOf = (answers: ReadonlyArray<Answer>) => answers.filter(({ isRefused }) => isRefused).length

/** Whether all answers of a domain, or its last ten, are refusals. */
const isRefusing = (answers: ReadonlyArray<Answer>) => answers.slice(-inDomain).every(({ isRefused }) => isRefused)

/** The answers of each known domain. */
const byDomain = (
  answers: ReadonlyArray<Answer>,
) => [...Map.groupBy(answers.filter(({ domain }) => domain !== ""), ({ domain }) => domain)]

const refusingDomains = (answers: ReadonlyArray<Answer>) =>
  byDomain(answers).filter(([, of]) => isRefusing(of)).map(([domain]) => domain)

/** The party that refuses, if so many messages are refused. A domain that refuses everything counts as one refusal. */
const verdictOn = (answers: ReadonlyArray<Answer>): "platform" | "domains" | "unknown" => {
  const counted = [
    ...answers.filter(({ domain }) => domain === ""),
    ...byDomain(answers).flatMap(([, of]) => isRefusing(of) ? of.slice(-1) : of),
  ]
  if (counted.length < evidenceNeeded) return "unknown"
  return 2 * refusalsOf(counted) >= counted.length ? "platform" : "domains"
}
