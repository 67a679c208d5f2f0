import { Duration } from "effect"
import type { SendResult } from "../../../src/delivery/Connection.ts"
import { broken, deferred, ofRecipient, refused, retry, slowDown } from "../../../src/delivery/connections/Answers.ts"
import { type Fault, isFaulty } from "../support/Faults.ts"
import type { Seeded } from "../support/Seeded.ts"
import type { VirtualTime } from "../support/VirtualTime.ts"
import type { FaultName } from "./faults.ts"
import { cutReason, type Row } from "./OutboxModel.ts"

const accepted: SendResult = { _tag: "accepted", messageId: "m", links: [] }

/** The simulated platform: takes messages from all nodes, and notes when each arrived and which it has. */
export class Platform {
  readonly arrivals: Array<number> = []
  /** How often it accepted each message. */
  readonly accepted = new Map<string, number>()
  /** How often each message arrived. */
  readonly attempts = new Map<string, number>()
  /** A message that was accepted twice although nothing that was recorded between explains it. */
  repeated: string | undefined
  /** For each accepted message, the ambiguities that were recorded when its last accepted attempt began. */
  private readonly begun = new Map<string, number>()
  /** The time of the arrival that broke the ceiling. */
  excessAt: number | undefined

  constructor(
    private readonly time: VirtualTime,
    private readonly random: Seeded,
    private readonly faults: ReadonlyArray<Fault<FaultName>>,
    private readonly ceiling: number,
  ) {}

  /** Sends the message of a row. It arrives after a while, and is answered later. The answer may be lost. */
  send({ ambiguities, domain, id }: Row, answer: (result: SendResult) => void): void {
    const { random, time } = this
    const isSlow = this.has("platformSlow")
    time.after(random.int(1, isSlow ? 300 : 30), () => {
      const result = this.arrive(id, domain, ambiguities)
      const isCut = this.has("platformCuts") && random.chance(0.5)
      const took = isSlow ? random.int(50, 15_000) : random.int(1, 120)
      time.after(took, () => answer(isCut ? retry(cutReason, true) : result))
    })
  }

  private arrive(id: string, domain: string, ambiguities: number): SendResult {
    const { arrivals, ceiling, time: { now } } = this
    arrivals.push(now)
    const before = arrivals[arrivals.length - 1 - ceiling]
    if (before !== undefined && now - before < 1_000) this.excessAt ??= now
    this.attempts.set(id, (this.attempts.get(id) ?? 0) + 1)
    const result = this.resultFor(domain)
    if (result._tag !== "accepted") return result
    this.accepted.set(id, (this.accepted.get(id) ?? 0) + 1)
    if (ambiguities <= (this.begun.get(id) ?? -1)) this.repeated ??= id
    this.begun.set(id, ambiguities)
    return result
  }

  private resultFor(domain: string): SendResult {
    const { random } = this
    if (this.has("platformFails")) return retry("503")
    if (this.has("platformBroken")) return broken("401")
    if (this.has("platformRefuses")) return refused("554 5.7.1 blocked")
    if (this.has("platformAsksForLess") && random.chance(0.3)) {
      return slowDown("429", random.chance(0.5) ? undefined : Duration.millis(random.int(0, 5_000)))
    }
    if (domain === "grey.example" && this.has("domainDefers")) {
      return random.chance(0.3) ? ofRecipient(slowDown("450 4.7.1 too many messages")) : deferred("451 greylisted")
    }
    return random.chance(0.01) ? refused("550 5.1.1 user unknown") : accepted
  }

  private has(kind: FaultName): boolean {
    return isFaulty(this.faults, kind, this.time.now)
  }
}
