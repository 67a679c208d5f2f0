import { type Duration, Effect, PartitionedSemaphore } from "effect"

/** Limits of queued work. */
interface TurnLimits<Busy> {
  /** Maximum number of queued and running tasks, of one organization and in total. */
  readonly maxWaitingOfOne: number
  readonly maxWaiting: number
  /** Maximum time in the queue. */
  readonly maxWait: Duration.Input
  /** The failure of a task that finds the queue full or exceeds `maxWait`. */
  readonly busy: () => Busy
}

/**
 * Creates a queue that runs one task at a time and alternates between organizations. Fails with `busy` beyond the
 * limits.
 */
export const make = <Busy>({ busy, maxWait, maxWaiting, maxWaitingOfOne }: TurnLimits<Busy>) =>
  Effect.map(PartitionedSemaphore.make<string>({ permits: 1 }), (slots) => {
    const waiting = new Map<string, number>()
    let allWaiting = 0

    const enter = (org: string) =>
      Effect.suspend(() => {
        const ofOne = waiting.get(org) ?? 0
        if (ofOne >= maxWaitingOfOne || allWaiting >= maxWaiting) return Effect.fail(busy())
        waiting.set(org, ofOne + 1)
        allWaiting++
        return Effect.void
      })

    const leave = (org: string) =>
      Effect.sync(() => {
        const ofOne = waiting.get(org)! - 1
        if (ofOne === 0) waiting.delete(org)
        else waiting.set(org, ofOne)
        allWaiting--
      })

    const inTime = <A, E, R>(org: string, work: Effect.Effect<A, E, R>) =>
      Effect.suspend(() => {
        let isRunning = false
        const turn = slots.withPermit(org)(Effect.suspend(() => {
          isRunning = true
          return work
        }))
        const giveUp = Effect.andThen(
          Effect.sleep(maxWait),
          Effect.suspend((): Effect.Effect<never, Busy> => isRunning ? Effect.never : Effect.fail(busy())),
        )
        return Effect.raceFirst(turn, giveUp)
      })

    return <A, E, R>(org: string, work: Effect.Effect<A, E, R>): Effect.Effect<A, E | Busy, R> =>
      Effect.acquireUseRelease(enter(org), () => inTime(org, work), () => leave(org))
  })
