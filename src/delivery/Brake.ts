import { isAboutAddress } from "../domain/refusals/BounceEvent.ts"
import { classifyRefusal } from "../domain/refusals/Refusals.ts"
import type { RefusalClass } from "../domain/refusals/RefusalTable.ts"
import { refusalCause } from "./RefusalCause.ts"

/** Consecutive refusals for one reason after which the platform is suspected. */
const inRow = 20

/** Refusals among the last `windowSize` messages, for any reason, after which the platform is suspected. */
const inWindow = 50
const windowSize = 100

/**
 * After this many consecutive refusals, all answers of a recipient domain count as one refusal, regardless of its
 * earlier answers.
 */
const inDomain = 10

/** Minimum number of answers that decide whether the platform or a domain refuses. */
const evidenceNeeded = 10

/**
 * Messages that are sent to suspected domains before the suspicion is checked again, if no other domain has messages.
 */
const patience = 10

/** The reason why a connection is braked. */
interface Trip {
  /** Completes a sentence shown to people. */
  readonly reason: string
}

/** The state of a brake, stored with its lane. */
export interface BrakeState {
  /**
   * The answers to the last 100 messages, latest last. Each is `x` if refused or `.` if accepted, followed by the
   * recipient domain.
   */
  readonly answers: ReadonlyArray<string>
  /** Consecutive refusals of one class; null after an acceptance. */
  readonly run: { readonly class: string; readonly count: number } | null
  /** The reason of the last refusal. */
  readonly reason: string
}

/** The answer to a message. */
interface Answer {
  /** "" if unknown. */
  readonly domain: string
  readonly isRefused: boolean
}

/**
 * Returns the class of a platform's own refusal. A mail server that says an account is suspended means the recipient's
 * mailbox; a platform means the account of the sender.
 */
const refusalOfPlatform = (reason: string): RefusalClass => {
  const refusal = classifyRefusal({ said: reason }).class
  return refusal === "disabled" && /\baccount\b/i.test(reason) ? "sender-policy" : refusal
}

/**
 * Stops a connection if its platform refuses so many messages that more sending would only waste messages. The platform
 * is suspected after
 *
 *     20 consecutive refusals for one cause other than the recipient's address, such as a refused sender, or
 *     50 refusals of the last 100 messages
 *
 * The brake trips if recipients at several domains caused the refusals. Otherwise a few domains may be the cause, such
 * as a domain that no longer exists. Then no message to these domains (`suspects`) may be sent until messages to other
 * domains have been answered. If no other domain has messages, call `noOthers`. Only acceptances and final refusals
 * count. A tripped brake stays tripped: create a new brake when a person confirms that the cause is removed.
 */
export class Brake {
  private answers: ReadonlyArray<Answer>
  /** Refusals among the answers. */
  private refusals: number
  private run: BrakeState["run"]
  private reason: string
  private tripped: Trip | undefined
  private suspected: ReadonlyArray<string> = []
  /** Refusals by suspected domains that are tolerated, because no other domain had messages. */
  private letPass = 0

  /** `state` is the stored state of the lane's previous owner. Default: no history. */
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

  /** Recipient domains that receive no messages until other domains have answered. Usually empty. */
  get suspects(): ReadonlyArray<string> {
    return this.suspected
  }

  /** The state to store; null if no message was refused. */
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

  /** `refusal`: what the recipient's server refused. Default: what the platform refused, by the words in `reason`. */
  refused(domain: string, reason: string, refusal: RefusalClass = refusalOfPlatform(reason)): void {
    this.add({ domain, isRefused: true })
    this.reason = reason
    if (isAboutAddress(refusal)) this.run = null
    else {
      // Servers say in many words that they refuse this sender.
      const kind = refusal === "sender-policy" ? refusal : refusalCause(reason)
      this.run = { class: kind, count: this.run?.class === kind ? this.run.count + 1 : 1 }
    }
    if (this.letPass > 0) this.letPass--
    this.decide()
  }

  /**
   * Call this if only suspected domains have messages. If a recent message to another domain was accepted, allows up to
   * 10 more messages to the suspects. Otherwise the brake trips.
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

/** Whether all answers of a domain, or its last ten answers, are refusals. */
const isRefusing = (answers: ReadonlyArray<Answer>) => answers.slice(-inDomain).every(({ isRefused }) => isRefused)

/** Groups answers by domain. Answers with an unknown domain are left out. */
const byDomain = (
  answers: ReadonlyArray<Answer>,
) => [...Map.groupBy(answers.filter(({ domain }) => domain !== ""), ({ domain }) => domain)]

const refusingDomains = (answers: ReadonlyArray<Answer>) =>
  byDomain(answers).filter(([, of]) => isRefusing(of)).map(([domain]) => domain)

/** Decides who causes the refusals. A domain that refuses all messages counts as one refusal. */
const verdictOn = (answers: ReadonlyArray<Answer>): "platform" | "domains" | "unknown" => {
  const counted = [
    ...answers.filter(({ domain }) => domain === ""),
    ...byDomain(answers).flatMap(([, of]) => isRefusing(of) ? of.slice(-1) : of),
  ]
  if (counted.length < evidenceNeeded) return "unknown"
  return 2 * refusalsOf(counted) >= counted.length ? "platform" : "domains"
}
