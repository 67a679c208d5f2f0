import { Cause, Duration, Effect, Exit, Scope } from "effect"
import { ConnectionError, SqlError, UniqueViolation } from "effect/sql/SqlError"
import * as GroupCommit from "../../src/store/GroupCommit.ts"
import { drawFaults, isFaulty } from "./support/Faults.ts"
import { type Seeded, seeded } from "./support/Seeded.ts"
import { SimulatedNode } from "./support/SimulatedNode.ts"
import { VirtualTime } from "./support/VirtualTime.ts"

// The group commit of one process, which may be killed, in front of a store in memory, in virtual time.

const kinds = {
  down: { perNode: false, longestMillis: 4_000 },
  slow: { perNode: false, longestMillis: 4_000 },
  answersLost: { perNode: false, longestMillis: 3_000 },
  pause: { perNode: true, longestMillis: 3_000 },
  clockJump: { perNode: true, longestMillis: 3_000 },
}
type Kind = keyof typeof kinds

const activeMillis = 8_000
const endMillis = 20_000
/** The maximum total weight of the entries in memory. */
const heldWeight = 60

interface Entry {
  readonly id: number
  readonly weight: number
  /** The store refuses it because of its data. */
  readonly isBad: boolean
}

/** How a write was answered. */
type Answer = "durable" | "kept" | "refused" | "failed"

const sqlError = (code: string) => {
  const cause = Object.assign(new Error(code), { code })
  return code === ""
    ? new SqlError({ reason: new ConnectionError({ cause }) })
    : new SqlError({ reason: new UniqueViolation({ cause, constraint: "entries" }) })
}

/** Bugs to plant. */
export interface GroupCommitBugs {
  /** The store acknowledges a group before it is committed. */
  readonly acknowledgesEarly?: boolean
  /** After a failed write its entries leave memory without their weight. */
  readonly forgetsRelease?: boolean
}

export class GroupCommitWorld {
  private readonly time = new VirtualTime()
  private readonly random: Seeded
  private readonly process: SimulatedNode
  private readonly stored = new Set<number>()
  private readonly answers = new Map<number, Answer>()
  private readonly left = new Map<number, number>()
  private readonly accepted: Array<Entry> = []
  private readonly commits: GroupCommit.GroupCommit<Entry, number>
  /** Entries whose write has failed. */
  private readonly tried = new Set<number>()
  private broken: string | undefined

  constructor(seed: number, private readonly bugs: GroupCommitBugs) {
    this.random = seeded(seed)
    const { random, time } = this
    this.process = new SimulatedNode(time)
    const faults = drawFaults<Kind>(random, kinds, { nodes: 1, endMillis: activeMillis, most: 4 })
    const is = (kind: Kind) => isFaulty(faults, kind, time.now)
    for (const { from, kind, to } of faults) {
      time.after(from, () => {
        if (kind === "pause") this.process.pauseUntil(to)
        if (kind === "clockJump") this.process.jumpTo(random.int(-3_600_000, 3_600_000))
      })
    }
    const make = GroupCommit.make<Entry, number>({
      write: (entries) => this.write(entries, is),
      onSettled: ({ id }) => this.left.set(id, (this.left.get(id) ?? 0) + 1),
      maxGroup: random.int(1, 8),
      ...(random.chance(0.5) ? { beside: { most: random.int(1, 2), from: random.int(1, 6) } } : {}),
      maxWaiting: 40,
      maxWeight: {
        limit: 20,
        held: heldWeight,
        of: ({ id, weight }) => bugs.forgetsRelease === true && this.tried.has(id) ? 0 : weight,
      },
      bufferSize: random.int(1, 12),
      bufferAge: Duration.seconds(10),
      timeout: Duration.seconds(1),
      drainTimeout: Duration.seconds(2),
    })
    this.commits = this.process.runSync(Effect.provideService(make, Scope.Scope, Scope.makeUnsafe()))
    for (let n = random.int(5, 40), id = 0; n > 0; n--) {
      const entry = { id: id++, weight: random.int(1, 9), isBad: random.chance(0.05) }
      time.after(random.int(0, activeMillis), () => this.submit(entry))
    }
    if (random.chance(0.2)) time.after(random.int(0, activeMillis), () => this.process.kill())
  }

  private break(sentence: string): void {
    this.broken ??= `${sentence} (after ${Math.round(this.time.now)} ms)`
  }

  private write(entries: ReadonlyArray<Entry>, is: (kind: Kind) => boolean) {
    return Effect.callback<ReadonlyArray<number>, SqlError>((resume) => {
      const { process, random, time } = this
      const latency = () => random.int(0, is("slow") ? 1_500 : 5)
      const answer = (effect: Effect.Effect<ReadonlyArray<number>, SqlError>) =>
        process.after(latency(), () => resume(effect))
      if (this.bugs.acknowledgesEarly === true) answer(Effect.succeed(entries.map(({ id }) => id)))
      time.after(latency(), () => {
        if (is("down")) {
          for (const { id } of entries) this.tried.add(id)
          return answer(Effect.fail(sqlError("")))
        }
        if (entries.some(({ isBad }) => isBad)) return answer(Effect.fail(sqlError("23505")))
        for (const { id } of entries) this.stored.add(id)
        if (is("answersLost") && random.chance(0.5)) return answer(Effect.fail(sqlError("")))
        answer(Effect.succeed(entries.map(({ id }) => id)))
      })
    })
  }

  private submit(entry: Entry): void {
    this.process.after(0, () => {
      const write = this.commits.submit(entry)
      if (write === undefined) return
      this.accepted.push(entry)
      this.process.run(this.commits.settled(write), (exit) => this.answered(entry, exit))
    })
  }

  private answered({ id }: Entry, exit: Exit.Exit<GroupCommit.Committed<number>, GroupCommit.BufferFull>): void {
    if (this.answers.has(id)) this.break(`Entry ${id} is answered twice`)
    if (Exit.isFailure(exit)) {
      this.answers.set(id, Cause.hasFails(exit.cause) ? "refused" : "failed")
      return
    }
    this.answers.set(id, exit.value.durable ? "durable" : "kept")
    if (!exit.value.durable) return
    if (!this.stored.has(id)) this.break(`Entry ${id} is acknowledged and not stored`)
    if (exit.value.value !== id) this.break(`Entry ${id} has the answer of entry ${exit.value.value}`)
  }

  /** Runs the schedule. Returns the first broken invariant. */
  run(): string | undefined {
    this.time.runUntil(endMillis, () => this.broken !== undefined)
    if (this.broken !== undefined || !this.process.alive) return this.broken
    for (const { id, isBad } of this.accepted) {
      const answer = this.answers.get(id)
      if (answer === undefined) this.break(`Entry ${id} is never answered`)
      if (answer === "kept" && !isBad && !this.stored.has(id)) {
        this.break(`Entry ${id} was kept in memory and is not stored`)
      }
      if (answer === "failed" && !isBad) this.break(`Entry ${id} fails though the store would take it`)
      if (this.left.get(id) !== 1) this.break(`Entry ${id} left memory ${this.left.get(id) ?? 0} times`)
    }
    if (this.commits.size() > 0) this.break(`${this.commits.size()} entries are left in memory`)
    if (this.commits.isDown()) this.break("The store counts as down")
    // The second entry is refused if the memory of earlier entries was not released.
    this.commits.submit({ id: -1, weight: 1, isBad: false })
    if (this.commits.submit({ id: -2, weight: heldWeight - 1, isBad: false }) === undefined) {
      this.break("Memory of entries that have left is not released")
    }
    return this.broken
  }
}
