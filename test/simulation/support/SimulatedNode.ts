import { Clock, Context, Duration, Effect, Exit, References, Scheduler } from "effect"
import type { VirtualTime } from "./VirtualTime.ts"

/** Unix time at the start of a simulation, in milliseconds. */
export const startOfTime = Date.UTC(2026, 0, 5, 12)

/**
 * A process in virtual time. Effects that it runs use its clock and its scheduler, so that a whole schedule runs at
 * once and in an order that depends on the seed alone.
 */
export class SimulatedNode {
  private isAlive = true
  private pausedUntil = 0
  /** How far the wall clock is off. Unit: milliseconds. */
  private offset = 0
  private readonly context: Context.Context<never>

  constructor(private readonly time: VirtualTime) {
    // deno-lint-ignore no-this-alias -- the clock's own methods have another `this`
    const node = this
    const millis = () => this.wallNow()
    const clock: Clock.Clock = {
      currentTimeMillisUnsafe: millis,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanosUnsafe: () => BigInt(millis()) * 1_000_000n,
      currentTimeNanos: Effect.sync(() => BigInt(millis()) * 1_000_000n),
      monotonicTimeNanosUnsafe: () => BigInt(Math.round(time.now)) * 1_000_000n,
      monotonicTimeNanos: Effect.sync(() => BigInt(Math.round(time.now)) * 1_000_000n),
      sleep: (duration) =>
        Effect.callback((resume) => {
          let isAwaited = true
          node.after(Duration.toMillis(duration), () => {
            if (isAwaited) resume(Effect.void)
          })
          return Effect.sync(() => void (isAwaited = false))
        }),
    }
    const scheduler = new Scheduler.MixedScheduler("sync", (run) => {
      let isCancelled = false
      this.after(0, () => {
        if (!isCancelled) run()
      })
      return () => void (isCancelled = true)
    })
    this.context = Context.make(Clock.Clock, clock).pipe(
      Context.add(Scheduler.Scheduler, scheduler),
      Context.add(References.MinimumLogLevel, "None"),
    ) as Context.Context<never>
  }

  get alive(): boolean {
    return this.isAlive
  }

  /** The wall clock of this node, Unix milliseconds. */
  wallNow(): number {
    return startOfTime + this.time.now + this.offset
  }

  /** Sets the wall clock so far off. Timers that run already are not affected. */
  jumpTo(offsetMillis: number): void {
    this.offset = offsetMillis
  }

  /** Nothing happens on this node before that time. */
  pauseUntil(at: number): void {
    this.pausedUntil = Math.max(this.pausedUntil, at)
  }

  /** Ends the process at once. Nothing that it waits for happens, no finalizer runs. */
  kill(): void {
    this.isAlive = false
  }

  /** Runs an action on this node, unless it ends before. */
  after(delayMillis: number, action: () => void): void {
    this.time.after(delayMillis, () => this.runOrWait(action))
  }

  private runOrWait(action: () => void): void {
    if (!this.isAlive) return
    if (this.time.now < this.pausedUntil) {
      this.time.after(this.pausedUntil - this.time.now, () => this.runOrWait(action))
    } else action()
  }

  /** Runs an effect on this node. `onEnd` is not called if the node ends before. */
  run<A, E>(effect: Effect.Effect<A, E>, onEnd: (exit: Exit.Exit<A, E>) => void = () => {}): void {
    this.after(0, () => void Effect.runForkWith(this.context)(effect).addObserver(onEnd))
  }

  /** Runs an effect that does not wait, and returns its value. Fibers that it forks run on. */
  runSync<A>(effect: Effect.Effect<A>): A {
    // `Effect.runSync` would give the forked fibers a scheduler of its own.
    const exit = Effect.runForkWith(this.context)(effect).pollUnsafe()
    if (exit === undefined || !Exit.isSuccess(exit)) throw new Error("The effect waits, or fails")
    return exit.value
  }
}
