import { isAboutAddress, refusalClass } from "./RefusalClass.ts"

/** Messages in a row that are refused for one reason before the brake trips. */
const inRow = 20

/** The brake trips when this many of the last `windowSize` messages are refused, for whatever reasons. */
const inWindow = 50
const windowSize = 100

/** Why a connection is braked. */
export interface Trip {
  /** In a sentence for people. */
  readonly reason: string
}

/** The memory of a brake, as it is stored with a lane. */
export interface BrakeState {
  /** The last messages, at most 100, the latest last: `x` was refused, `.` was accepted. */
  readonly outcomes: string
  /** Refusals of one class since the last other answer; null after an acceptance. */
  readonly run: { readonly class: string; readonly count: number } | null
  /** The last refusal. */
  readonly reason: string
}

/**
 * Decides when the platform refuses so much that sending on would only burn messages:
 *
 *     20 messages in a row with one reason that is not about the recipient's address, or
 *     50 of the last 100 messages
 *
 * A few bad addresses in a row, such as those of a domain that is gone, therefore do not stop a connection. Only final refusals
 * and acceptances count. Tripped, it stays so: start with another one when somebody says that the cause is removed.
 */
export class Brake {
  private outcomes: string
  private run: BrakeState["run"]
  private reason: string
  private tripped: Trip | undefined

  /** `state` is what an earlier owner of the lane remembered. */
  constructor(state: BrakeState | null = null) {
    this.outcomes = state?.outcomes ?? ""
    this.run = state?.run ?? null
    this.reason = state?.reason ?? ""
    this.decide()
  }

  /** Set once nothing more is to be sent. */
  get trip(): Trip | undefined {
    return this.tripped
  }

  /** The memory to store; null while it holds no refusal. */
  get state(): BrakeState | null {
    return this.outcomes.includes("x") ? { outcomes: this.outcomes, run: this.run, reason: this.reason } : null
  }

  accepted(): void {
    this.add(".")
    this.run = null
  }

  refused(reason: string): void {
    this.add("x")
    this.reason = reason
    if (isAboutAddress(reason)) this.run = null
    else {
      const kind = refusalClass(reason)
      this.run = { class: kind, count: this.run?.class === kind ? this.run.count + 1 : 1 }
    }
    this.decide()
  }

  private add(outcome: "x" | "."): void {
    this.outcomes = (this.outcomes + outcome).slice(-windowSize)
  }

  private decide(): void {
    if (this.tripped !== undefined) return
    const refused = this.outcomes.split("x").length - 1
    if (this.run !== null && this.run.count >= inRow) {
      this.tripped = { reason: `${this.run.count} messages in a row were refused for one reason. ${this.reason}` }
    } else if (refused >= inWindow) {
      this.tripped = {
        reason:
          `${refused} of the last ${this.outcomes.length} messages were refused, the last one with: ${this.reason}`,
      }
    }
  }
}
