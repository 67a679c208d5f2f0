import { Duration } from "effect"
import type { ActiveConnection } from "../../../src/delivery/Connections.ts"
import type { LaneInput, LaneSettings } from "../../../src/delivery/LaneState.ts"
import { drawFaults, type Fault, isFaulty } from "../support/Faults.ts"
import { type Seeded, seeded } from "../support/Seeded.ts"
import { VirtualTime } from "../support/VirtualTime.ts"
import { faultKinds, type FaultName } from "./faults.ts"
import { Node, type ShellFaults } from "./Node.ts"
import { type OutboxFaults, OutboxModel, type Row } from "./OutboxModel.ts"
import { Platform } from "./Platform.ts"

/** Faults that are planted into the model of the store or the shell. */
export type Planted = OutboxFaults & ShellFaults

/** Messages are queued, and faults begin, in this time. Unit of all times: milliseconds. */
const faultyMillis = 20_000

/** A schedule that has not ended by then has lost a message. */
const longestMillis = 600_000

const domains = ["good.example", "big.example", "grey.example"]

/** Up to three nodes, one lane, one store and one platform in virtual time, with the faults of one seed. */
export class LaneWorld {
  readonly time = new VirtualTime()
  readonly random: Seeded
  readonly outbox: OutboxModel
  readonly platform: Platform
  readonly settings: LaneSettings
  private readonly faults: ReadonlyArray<Fault<FaultName>>
  private readonly nodes: ReadonlyArray<Node>
  private readonly concurrency: number
  private version = 1
  private isRefusing = false
  /** Messages whose queueing was acknowledged. */
  private readonly acknowledged: Array<string> = []
  private toQueue: number
  private broken: string | undefined

  constructor(seed: number, planted: Planted) {
    const random = this.random = seeded(seed)
    const rate = random.pick([1, 3, 10, 30, 100])
    this.settings = {
      rate,
      retries: {
        attempts: Infinity,
        firstPause: Duration.millis(500),
        horizon: Duration.seconds(40),
        recipientHorizon: Duration.seconds(60),
      },
      shutdownMillis: 10_000,
    }
    this.concurrency = random.pick([1, 2, 5, 20])
    this.toQueue = random.chance(0.03) ? random.int(1, 250) : random.int(1, Math.min(40, 10 * rate))
    const count = random.pick([1, 2, 2, 3])
    this.faults = drawFaults(random, faultKinds, { nodes: count, endMillis: faultyMillis, most: 8 })
    this.outbox = new OutboxModel(() => this.time.now, planted)
    this.platform = new Platform(this.time, random, this.faults, rate)
    this.nodes = Array.from({ length: count }, (_, index) => new Node(this, index, planted))
  }

  /** Runs the schedule. Returns the first broken invariant, undefined if all held. */
  run(): string | undefined {
    for (const node of this.nodes) this.time.after(this.random.int(0, 1_000), () => node.boot())
    for (const fault of this.faults) this.time.after(fault.from, () => this.begin(fault))
    const count = this.toQueue
    const isBurst = this.random.chance(0.5)
    for (let n = 0; n < count; n++) {
      this.time.after(
        isBurst ? 0 : this.random.int(0, faultyMillis),
        () => this.queue(`m${String(n).padStart(4, "0")}`),
      )
    }
    this.time.runUntil(
      longestMillis,
      () =>
        this.broken !== undefined ||
        (this.time.now > faultyMillis && this.toQueue === 0 && this.outbox.open.size === 0),
    )
    return this.broken ?? this.brokenAtEnd()
  }

  get active(): ActiveConnection {
    return {
      name: "relay",
      platform: "smtp",
      paused: false,
      refusing: this.isRefusing,
      version: String(this.version),
    } as ActiveConnection
  }

  get isCarried(): boolean {
    return !this.isRefusing
  }

  open(): LaneInput {
    return {
      _tag: "opened",
      concurrency: this.concurrency,
      domains: { share: 0.5, perSecond: undefined },
    }
  }

  /** Pauses the connection unless it was entered anew; somebody resumes it some seconds later. */
  refuse(version: string): boolean {
    if (String(this.version) !== version) return false
    if (!this.isRefusing) {
      this.isRefusing = true
      this.time.after(this.random.int(1_000, 10_000), () => this.enterAnew())
    }
    return true
  }

  hasFault(kind: FaultName, node?: number): boolean {
    return isFaulty(this.faults, kind, this.time.now, node)
  }

  /** A lane that ended in order is free. */
  checkReleased(fence: number): void {
    const { fence: last, released } = this.outbox
    if (fence === last && released !== fence) this.fail(`Owner ${fence} ended and kept its lease`)
  }

  /** Only the owner of the lane begins to send. */
  checkOwner(fence: number): void {
    if (fence !== this.outbox.fence) {
      this.fail(`Owner ${fence} began to send after owner ${this.outbox.fence} took the lane`)
    }
  }

  private fail(broken: string): void {
    this.broken ??= `${broken}, at ${this.time.now} ms`
  }

  private queue(id: string): void {
    const { random } = this
    const isDown = this.hasFault("storeFails") && random.chance(0.5)
    if (isDown) {
      // The caller asks again until it is acknowledged.
      this.time.after(500, () => this.queue(id))
      return
    }
    this.outbox.queue(id, random.pick(domains), random.chance(0.2))
    this.acknowledged.push(id)
    this.toQueue--
    if (this.hasFault("wakesLost")) return
    const node = random.pick(this.nodes)
    node.due()
    if (this.hasFault("wakesDoubled")) node.due()
  }

  private begin({ kind, node, to }: Fault<FaultName>): void {
    const struck = node === undefined ? undefined : this.nodes[node]!
    switch (kind) {
      case "crash":
      case "restart":
        if (kind === "crash") struck!.crash()
        else struck!.stop()
        // A process that takes long to end is ended by force.
        return this.time.after(to - this.time.now, () => {
          struck!.crash()
          struck!.boot()
        })
      case "pause":
        return struck!.pause(to)
      case "clockJump":
        this.outbox.clockOffset += this.random.pick([400, -400, -3_000, -30_000])
        return
      case "enteredAnew":
        return this.enterAnew()
      default:
    }
  }

  private enterAnew(): void {
    this.version++
    this.isRefusing = false
  }

  private brokenAtEnd(): string | undefined {
    const { excessAt, repeated } = this.platform
    if (repeated !== undefined) return `Message ${repeated} arrived twice, and no record says why`
    if (excessAt !== undefined) {
      return `More than ${this.settings.rate} messages arrived in the second before ${excessAt} ms`
    }
    for (const id of this.acknowledged) {
      const broken = this.brokenBy(this.outbox.rows.get(id))
      if (broken !== undefined) return `Message ${id} ${broken}`
    }
    return undefined
  }

  private brokenBy(row: Row | undefined): string | undefined {
    if (row === undefined) return "is lost"
    const { ambiguities, attempts, id, reason, state } = row
    const accepted = this.platform.accepted.get(id) ?? 0
    const tried = this.platform.attempts.get(id) ?? 0
    if (state === "queued" || state === "sending") return `is still ${state} after ${longestMillis} ms`
    if (state === "sent" && accepted === 0) return "is recorded as sent, but the platform does not have it"
    if (state === "failed" && tried === 0 && reason !== "interrupted") return "failed without an attempt"
    if (accepted > 1 + ambiguities) return `arrived ${accepted} times, with ${ambiguities} recorded ambiguities`
    if (accepted > (state === "sent" ? 1 : 0) + ambiguities) return `failed although it arrived: ${reason}`
    return attempts > tried ? `has ${attempts} attempts recorded, but made ${tried}` : undefined
  }
}

/** Runs the schedule of a seed. Returns the first broken invariant in a sentence, undefined if all held. */
export const runLane = (seed: number, planted: Planted = {}): string | undefined => new LaneWorld(seed, planted).run()
