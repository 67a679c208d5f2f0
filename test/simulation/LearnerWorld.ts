import { Effect, Exit, Layer, Scope, Semaphore } from "effect"
import { hourMillis } from "../../src/bandit/Window.ts"
import type { FitAnswer, FitRequest } from "../../src/learning/Engine.ts"
import { EngineFailed } from "../../src/learning/EngineWorker.ts"
import { FitBudget } from "../../src/learning/FitBudget.ts"
import * as LearnerShell from "../../src/learning/LearnerShell.ts"
import type { next } from "../../src/learning/LearnerState.ts"
import { bounded } from "../../src/store/bounded.ts"
import { layerSettings } from "../support/settings.ts"
import { LearnerStoreModel, type StoreBugs } from "./LearnerStoreModel.ts"
import { drawFaults, type Fault, isFaulty } from "./support/Faults.ts"
import { type Seeded, seeded } from "./support/Seeded.ts"
import { SimulatedNode, startOfTime } from "./support/SimulatedNode.ts"
import { VirtualTime } from "./support/VirtualTime.ts"

// One template's learners on several nodes, with the store in memory, in virtual time. Faults strike in the first part
// of a schedule, while rows arrive; then the learners have time to recover.

const kinds = {
  storeDown: { perNode: false, longestMillis: 8_000 },
  storeSlow: { perNode: false, longestMillis: 10_000 },
  answersLost: { perNode: false, longestMillis: 8_000 },
  rebuild: { perNode: false, longestMillis: 12_000 },
  /** Two nodes believe that the template is theirs. */
  twoOwners: { perNode: false, longestMillis: 15_000 },
  /** The template moves to another node. */
  move: { perNode: false, longestMillis: 1 },
  wakesLost: { perNode: true, longestMillis: 10_000 },
  wakesDoubled: { perNode: true, longestMillis: 10_000 },
  crash: { perNode: true, longestMillis: 6_000 },
  pause: { perNode: true, longestMillis: 6_000 },
  clockJump: { perNode: true, longestMillis: 10_000 },
  /** The worker of the engine ends, and forgets what it knew. */
  engineLost: { perNode: true, longestMillis: 1 },
}
type Kind = keyof typeof kinds

const activeMillis = 20_000
/** The sweep of models finds within 30 seconds what faults left behind. */
const recoveryMillis = 40_000
const endMillis = activeMillis + recoveryMillis + 35_000

/**
 * How old a model may be while the store works. The ledger is swept every second, and a template is fitted again after
 * a second or 20 times its last fit, which takes at most 30 ms here.
 */
const promiseMillis = 5_000

/** Bugs to plant. */
export interface LearnerBugs extends StoreBugs {
  readonly next?: typeof next
}

/** A process that may run the template's learner, and its engine. */
class LearnerNode {
  process: SimulatedNode
  /** The objective as this node knows it. */
  objective: string
  private actor: { readonly handlers: LearnerShell.LearnerHandlers; readonly scope: Scope.Closeable } | undefined
  private mailbox = Semaphore.makeUnsafe(1)
  private waiting = 0
  /** How often the engine counts each row; undefined if the template is not open. */
  private counts: Array<number> | undefined
  private countedObjective = ""
  private engineBusyUntil = 0

  constructor(private readonly world: LearnerWorld) {
    this.process = new SimulatedNode(world.time)
    this.objective = world.objective
  }

  restart(): void {
    this.process = new SimulatedNode(this.world.time)
    this.objective = this.world.objective
    this.actor = undefined
    this.mailbox = Semaphore.makeUnsafe(1)
    this.waiting = 0
    this.counts = undefined
    this.engineBusyUntil = 0
    this.world.startSweeps(this)
  }

  loseEngine(): void {
    this.counts = undefined
  }

  /** Lets the learner go: the template has moved to another node. */
  drop(): void {
    const { actor } = this
    if (actor === undefined) return
    this.actor = undefined
    this.process.run(Scope.close(actor.scope, Exit.void))
  }

  /** The engine does one thing after the other. */
  private ask<A>(millis: number, answer: () => A | undefined): Effect.Effect<A, EngineFailed> {
    return Effect.callback((resume) => {
      const { time } = this.world
      this.engineBusyUntil = Math.max(this.engineBusyUntil, time.now) + millis
      this.process.after(this.engineBusyUntil - time.now, () => {
        const value = answer()
        resume(value === undefined ? Effect.fail(new EngineFailed({ reason: "not open" })) : Effect.succeed(value))
      })
    })
  }

  private readonly engine: LearnerShell.LearnerEngine = {
    open: (request) =>
      this.ask(1, () => {
        this.counts = []
        this.countedObjective = request.objective as string
        this.count(request.tallies)
        return true
      }),
    apply: (counted) => this.ask(1, () => this.counts && this.count(counted.tallies)),
    fit: (request) => {
      const millis = this.world.random.int(1, 30)
      return this.ask(millis, () => {
        const model = { times: [...this.counts ?? []], objective: this.countedObjective, fittedAt: request.now }
        return this.counts && { model, contribution: null, millis } as unknown as FitAnswer
      })
    },
  }

  private count(tallies: ReadonlyArray<{ readonly copyId: string }>): true {
    for (const { copyId } of tallies) this.counts![Number(copyId)] = (this.counts![Number(copyId)] ?? 0) + 1
    return true
  }

  private handlers(): LearnerShell.LearnerHandlers {
    if (this.actor !== undefined) return this.actor.handlers
    const { bugs, store } = this.world
    const { process } = this
    const scope = Scope.makeUnsafe()
    const make = Effect.gen({ self: this }, function* () {
      const { budget } = yield* Effect.all({ budget: FitBudget }).pipe(
        Effect.provide(yield* Layer.build(Layer.provide(FitBudget.layer, layerSettings({})))),
      )
      return yield* LearnerShell.make({
        org: "acme",
        name: "acme/t",
        store: store.of(process),
        engine: this.engine,
        budget,
        facts: () => ({ objective: JSON.stringify(this.objective), sends: 0 }),
        gather: ({ version, window }) =>
          store.transaction(process, () => ({ version: `t:${version}`, now: process.wallNow(), window } as FitRequest)),
        followChanges: Effect.ignore(store.transaction(process, () => {
          this.objective = this.world.objective
        })),
        ...(bugs.next === undefined ? {} : { next: bugs.next }),
      })
    })
    const handlers = process.runSync(Effect.provideService(make, Scope.Scope, scope))
    this.actor = { handlers, scope }
    return handlers
  }

  /** Sends the learner a message, which it takes when it is done with those before. */
  private send<A>(message: (handlers: LearnerShell.LearnerHandlers) => Effect.Effect<A>): Effect.Effect<A> {
    return Effect.suspend(() => this.mailbox.withPermits(1)(message(this.handlers())))
  }

  wake(isStale: boolean): void {
    // A full mailbox refuses messages.
    if (this.waiting > 20) return
    this.waiting++
    this.process.run(this.send((handlers) => handlers.wake(isStale)), () => this.waiting--)
  }

  /** Asks for an up-to-date model, and answers whether it came in time. */
  refresh(onEnd: (isFresh: boolean) => void): void {
    this.process.run(bounded("2 seconds")(this.send(({ refresh }) => refresh)), (exit) => onEnd(Exit.isSuccess(exit)))
  }

  /** Asks for the model of a window, and answers whether it came in time. */
  window(onEnd: (isFitted: boolean) => void): void {
    const window = { lookbackDays: 14, offsetDays: 0 }
    this.process.run(
      bounded("2 seconds")(this.send((handlers) => handlers.window(window))),
      (exit) => onEnd(Exit.isSuccess(exit)),
    )
  }
}

export class LearnerWorld {
  readonly time = new VirtualTime()
  readonly random: Seeded
  readonly store: LearnerStoreModel
  /** The template's objective, and when it was last changed. */
  objective = "click"
  private objectiveAt = 0
  private readonly faults: ReadonlyArray<Fault<Kind>>
  private readonly nodes: ReadonlyArray<LearnerNode>
  private owner = 0
  private broken: string | undefined

  constructor(seed: number, readonly bugs: LearnerBugs) {
    this.random = seeded(seed)
    const { random } = this
    const count = random.int(1, 3)
    this.faults = drawFaults(random, kinds, { nodes: count, endMillis: activeMillis, most: 6 })
    this.store = new LearnerStoreModel(this.time, random, {
      isDown: () => this.isFaulty("storeDown"),
      losesAnswers: () => this.isFaulty("answersLost"),
      latency: () => random.int(0, this.isFaulty("storeSlow") ? 2_000 : 8),
    }, bugs)
    this.nodes = Array.from({ length: count }, () => new LearnerNode(this))
    for (const node of this.nodes) this.startSweeps(node)
    for (const fault of this.faults) this.time.after(fault.from, () => this.strike(fault))
    this.schedule()
  }

  private isFaulty(kind: Kind, node?: LearnerNode): boolean {
    return isFaulty(this.faults, kind, this.time.now, node && this.nodes.indexOf(node))
  }

  private isOwner(node: LearnerNode): boolean {
    const index = this.nodes.indexOf(node)
    return index === this.owner || (this.isFaulty("twoOwners") && index === (this.owner + 1) % this.nodes.length)
  }

  private moveTo(owner: number): void {
    this.owner = owner
    for (const node of this.nodes) if (!this.isOwner(node)) node.drop()
  }

  private strike({ kind, node: index = 0, from, to }: Fault<Kind>): void {
    const { random, time } = this
    const node = this.nodes[index]!
    const { process } = node
    const others = this.nodes.flatMap((other, at) => other.process.alive && at !== index ? [at] : [])
    switch (kind) {
      case "crash":
        if (!process.alive) return
        process.kill()
        time.after(to - from, () => node.restart())
        // The lease of the node runs out.
        time.after(5_000, () => {
          if (!node.process.alive && this.owner === index && others.length > 0) this.moveTo(random.pick(others))
        })
        break
      case "pause":
        process.pauseUntil(to)
        break
      case "clockJump":
        process.jumpTo(random.int(-3 * hourMillis, 3 * hourMillis))
        time.after(to - from, () => node.process.jumpTo(random.pick([0, random.int(-hourMillis, hourMillis)])))
        break
      case "engineLost":
        node.loseEngine()
        break
      case "rebuild":
        this.store.rebuild(to - from)
        break
      case "move":
        this.moveTo(random.int(0, this.nodes.length - 1))
        break
      case "twoOwners":
        time.after(to - from, () => this.moveTo(this.owner))
        break
    }
  }

  private wake(node: LearnerNode, isStale: boolean): void {
    if (!this.isOwner(node)) return
    if (this.isFaulty("wakesLost", node) && this.random.chance(0.7)) return
    node.wake(isStale)
    if (this.isFaulty("wakesDoubled", node)) node.wake(isStale)
  }

  /** The two sweeps that wake the learner, as in `Sweep`. */
  startSweeps(node: LearnerNode): void {
    const { process } = node
    const repeat = (everyMillis: number, finds: () => boolean, isStale: boolean) => {
      const sweep = () =>
        process.run(this.store.transaction(process, finds), (exit) => {
          if (Exit.isSuccess(exit) && exit.value) this.wake(node, isStale)
          process.after(everyMillis, sweep)
        })
      process.after(this.random.int(0, everyMillis), sweep)
    }
    repeat(1_000, () => this.store.ledger.length > 0, false)
    repeat(30_000, () => this.store.isStale(Math.floor(process.wallNow() / hourMillis) * hourMillis), true)
  }

  /** Draws the actions of people and requests. */
  private schedule(): void {
    const { random, time } = this
    const during = (count: number, from: number, to: number, action: () => void) => {
      for (let n = 0; n < count; n++) time.after(random.int(from, to), action)
    }
    const append = () => {
      if (!this.isFaulty("storeDown")) { for (let n = random.int(1, 3); n > 0; n--) this.store.append() }
    }
    during(random.int(3, 15), 0, activeMillis, append)
    during(random.int(0, 4), activeMillis, endMillis, append)
    during(random.int(0, 4), 0, endMillis, () => this.refresh())
    during(random.int(0, 2), 0, endMillis, () => this.window())
    during(random.int(0, 2), 0, activeMillis, () => this.changeObjective())
  }

  private refresh(): void {
    const askedAt = this.time.now
    const isCalm = this.isCalm()
    this.nodes[this.owner]!.refresh((isFresh) => {
      if (isFresh) this.store.checkModel(askedAt - 1, "After a refresh")
      else if (isCalm && this.isCalm()) this.broken ??= `A refresh asked for after ${askedAt} ms fails`
    })
  }

  private window(): void {
    const askedAt = this.time.now
    const isCalm = this.isCalm()
    this.nodes[this.owner]!.window((isFitted) => {
      if (isCalm && !isFitted && this.isCalm()) {
        this.broken ??= `The model of a window asked for after ${askedAt} ms is not fitted`
      }
    })
  }

  private changeObjective(): void {
    const { random, time } = this
    if (this.isFaulty("storeDown")) return
    this.objective = `${this.objective}+`
    this.objectiveAt = time.now
    for (const node of this.nodes) {
      node.process.after(random.int(0, 1_000), () => void (node.objective = this.objective))
    }
    const { process } = random.pick(this.nodes)
    const mark = () =>
      process.run(
        this.store.transaction(process, () => {
          if (this.store.isLocked) return false
          this.store.fittedRevision = undefined
          return true
        }),
        (exit) => {
          if (Exit.isSuccess(exit) && !exit.value) process.after(1_000, mark)
        },
      )
    mark()
    this.wake(this.nodes[this.owner]!, true)
  }

  /** Whether no fault has begun yet, or all have been over long enough to recover. */
  private isCalm(): boolean {
    const { now } = this.time
    return this.faults.every(({ from, to }) => from > now || to + recoveryMillis < now)
  }

  private check(): void {
    const { store, time } = this
    if (this.isCalm()) {
      store.checkModel(time.now - promiseMillis, `${promiseMillis} ms later`)
      const isLate = this.objectiveAt <= time.now - promiseMillis
      if (isLate && store.model !== undefined && store.model.objective !== this.objective) {
        this.broken ??= `The model has an objective that was changed after ${this.objectiveAt} ms`
      }
    }
    time.after(250, () => this.check())
  }

  /** Runs the schedule. Returns the first broken invariant. */
  run(): string | undefined {
    this.check()
    const isBroken = () => this.broken !== undefined || this.store.broken !== undefined
    this.time.runUntil(endMillis, isBroken)
    let answers = 0
    this.nodes[this.owner]!.refresh((isFresh) => answers += Number(isFresh))
    this.nodes[this.owner]!.window((isFitted) => answers += Number(isFitted))
    this.time.runUntil(endMillis + 4_000, isBroken)
    if (!isBroken() && answers < 2) this.broken = "At the end the learner does not answer"
    if (!isBroken()) this.store.checkTallies()
    return this.broken ?? this.store.broken
  }

  /** A description of the schedule for reports. */
  describe(): string {
    return `${this.nodes.length} nodes; ${
      this.faults.map(({ from, kind, node, to }) =>
        `${kind}${node === undefined ? "" : ` on ${node}`} ${from}–${to} ms`
      )
        .join(", ")
    }; since ${new Date(startOfTime).toISOString()}`
  }
}
