import { Cause } from "effect"
import type { SendResult } from "../../../src/delivery/Connection.ts"
import { retry } from "../../../src/delivery/connections/Answers.ts"
import { next } from "../../../src/delivery/LaneLoop.ts"
import { type LaneCommand, type LaneInput, type LaneState, start, wakeAt } from "../../../src/delivery/LaneState.ts"
import type { LaneWorld } from "./LaneWorld.ts"

/** Faults of the shell that a test plants to show that the simulation finds them. */
export interface ShellFaults {
  /** An ended lane keeps its lease. */
  readonly withoutRelease?: boolean
  /** Each record is made twice. */
  readonly doubleSettle?: boolean
  /** The alarm that rings during a query is not set again. */
  readonly lostWake?: boolean
}

const storeAway = Cause.die("The store is away")

/** The lane of a node, as its shell holds it. */
interface Held {
  readonly fence: number
  state: LaneState
  alarmAt: number
  /** The store did not hear of its end, so that the lease runs out. */
  isSilentEnd: boolean
}

/** A process: the dispatcher and the shell of a lane in virtual time. */
export class Node {
  /** Rises with every start of the process, so that what an earlier process asked for is not answered. */
  private incarnation = 0
  private pausedUntil = 0
  private lane: Held | undefined
  private isTaking = false
  private isUp = false
  private isStopping = false
  /** Its monotonic clock less virtual time. */
  private readonly clockOffset: number

  constructor(private readonly world: LaneWorld, readonly index: number, private readonly faults: ShellFaults) {
    this.clockOffset = world.random.int(0, 1_000_000)
  }

  boot(): void {
    if (this.isUp) return
    this.isUp = true
    this.isStopping = false
    this.incarnation++
    this.look()
  }

  crash(): void {
    this.isUp = false
    this.lane = undefined
    this.isTaking = false
    this.incarnation++
  }

  /** Ends in order: the lane lands and gives its lease back. */
  stop(): void {
    if (!this.isUp || this.isStopping) return
    this.isStopping = true
    if (this.lane !== undefined) this.input({ _tag: "stop" })
    else this.crash()
  }

  pause(until: number): void {
    this.pausedUntil = Math.max(this.pausedUntil, until)
  }

  /** A message was queued on this node. */
  due(): void {
    if (!this.isUp) return
    this.later(0, () => {
      if (this.lane === undefined) this.take()
      else this.input({ _tag: "due" })
    })
  }

  /** Runs an action of this process, after its pause if it is paused, and never once the process has ended. */
  private later(delayMillis: number, action: () => void): void {
    const { incarnation } = this
    const { time } = this.world
    const run = () => {
      if (incarnation !== this.incarnation) return
      if (time.now < this.pausedUntil) time.after(this.pausedUntil - time.now, run)
      else action()
    }
    time.after(delayMillis, run)
  }

  /** Looks every second for a lane that nobody holds. */
  private look(): void {
    this.query(() => this.world.outbox.isIdle, (isIdle) => {
      if (isIdle === true) this.take()
    })
    this.later(1_000, () => this.look())
  }

  private take(): void {
    if (this.lane !== undefined || this.isTaking || this.isStopping || !this.world.isCarried) return
    this.isTaking = true
    const askedAt = this.monotonic
    this.query(() => this.world.outbox.take(), (taken) => {
      this.isTaking = false
      if (taken === undefined || taken === failed || this.isStopping) return
      const state = start(this.world.settings, taken, askedAt, this.monotonic)
      this.lane = { fence: taken.fence, state, alarmAt: Infinity, isSilentEnd: false }
      this.input({ _tag: "woken" })
    })
  }

  private get monotonic(): number {
    return this.world.time.now + this.clockOffset
  }

  /** Asks the store, after which the answer comes: slowly, or not at all while that fails. */
  private query<A>(ask: () => A, answer: (result: A | typeof failed) => void): void {
    const { random, time } = this.world
    const fails = this.world.hasFault("storeAway", this.index) ||
      (this.world.hasFault("storeFails") && random.chance(0.5))
    const reaches = !fails || random.chance(0.5)
    const delay = () => random.int(0, this.world.hasFault("storeSlow") ? 1_500 : 4)
    time.after(delay(), () => {
      const result = reaches ? ask() : failed
      this.later(delay(), () => answer(fails ? failed : result))
    })
  }

  private input(input: LaneInput): void {
    const { lane } = this
    if (lane === undefined) return
    const [state, commands] = next(lane.state, input, { millis: this.monotonic, active: this.world.active })
    lane.state = state
    for (const command of commands) this.execute(lane, command)
    if (state.phase._tag === "ended") this.end(lane)
    else this.setAlarm(lane)
  }

  private end({ fence, isSilentEnd, state }: Held): void {
    this.lane = undefined
    const isOrderly = !isSilentEnd && state.failure === undefined && !state.isLost && this.monotonic < state.endsAt
    if (isOrderly) this.world.checkReleased(fence)
    if (this.isStopping) this.crash()
  }

  private setAlarm(lane: Held): void {
    const at = wakeAt(lane.state)
    if (at === lane.alarmAt) return
    lane.alarmAt = at
    if (at === Infinity) return
    this.later(at - this.monotonic, () => {
      if (lane !== this.lane || lane.alarmAt !== at) return
      if (this.faults.lostWake === true && lane.state.renewingSince !== undefined) return
      lane.alarmAt = Infinity
      this.input({ _tag: "woken" })
    })
  }

  /** Asks the store for the lane, and passes the result on as an input. */
  private ask<A>(
    lane: Held,
    ask: () => A,
    onSuccess: (result: A) => LaneInput,
    onFailure: LaneInput = { _tag: "failed", cause: storeAway },
  ): void {
    this.query(ask, (result) => {
      if (lane !== this.lane) return
      if (result === failed && onFailure._tag === "failed") lane.isSilentEnd = true
      this.input(result === failed ? onFailure : onSuccess(result))
    })
  }

  private execute(lane: Held, command: LaneCommand): void {
    const { fence } = lane
    const { outbox, random } = this.world
    switch (command._tag) {
      case "renew":
        if (this.world.hasFault("renewalsFail")) return this.later(50, () => this.input({ _tag: "notRenewed" }))
        return this.ask(lane, () => outbox.renew(fence), (isHeld) => ({ _tag: "renewed", isHeld }), {
          _tag: "notRenewed",
        })
      case "claim": {
        const { choice, isBusy, limit } = command
        return this.ask(lane, () => outbox.claim(fence, limit, isBusy, choice), (messages) => ({
          _tag: "claimed",
          messages,
        }))
      }
      case "giveBack":
        return this.ask(lane, () => outbox.giveBack(fence, command.ids), () => ({ _tag: "gaveBack" }))
      case "refuse": {
        const { version } = command.active
        return this.ask(lane, () => this.world.refuse(version), (isRefusing) => ({ _tag: "refused", isRefusing }))
      }
      case "record":
        return this.record(lane, command)
      case "release":
        if (this.faults.withoutRelease === true) return this.ask(lane, () => {}, () => ({ _tag: "released" }))
        return this.ask(lane, () => outbox.release(fence), () => ({ _tag: "released" }))
      case "open":
        return this.later(random.int(0, 50), () => {
          if (lane === this.lane) this.input(this.world.open())
        })
      case "check": {
        const { flight } = command
        return this.ask(lane, () => undefined, () => ({ _tag: "checked", flight, found: undefined }), {
          _tag: "notChecked",
          flight,
        })
      }
      case "attempt":
        return this.attempt(lane, command)
      case "giveUp":
      case "leave":
      case "arrive":
      case "note":
      case "warn":
    }
  }

  private record(lane: Held, { afterMillis, brake, settled }: Extract<LaneCommand, { _tag: "record" }>): void {
    const settle = () => this.world.outbox.settle(lane.fence, settled, brake)
    this.later(afterMillis, () => {
      this.ask(lane, settle, () => ({ _tag: "recorded" }), { _tag: "notRecorded", cause: storeAway })
    })
    if (this.faults.doubleSettle === true) this.world.time.after(700, settle)
  }

  private attempt(lane: Held, { flight, message }: Extract<LaneCommand, { _tag: "attempt" }>): void {
    this.world.checkOwner(lane.fence)
    let isAnswered = false
    const answer = (result: SendResult) =>
      this.later(0, () => {
        if (isAnswered || lane !== this.lane) return
        isAnswered = true
        this.input({ _tag: "answered", flight, result, jitter: this.world.random.uniform() })
      })
    this.world.platform.send(this.world.outbox.rows.get(message.id)!, answer)
    this.later(75_000, () => answer(retry("No answer in time", true)))
  }
}

const failed = Symbol("failed")
