import { Effect } from "effect"
import { performance } from "node:perf_hooks"
import { SlotSet, type Slotted } from "../domain/ShortLived.ts"

// Work in progress on the event loop: requests and background jobs. A late iteration of the loop is attributed to them.

/** The name of a piece of work in the log, never with a path or any other text that may identify a person. */
export interface WorkName {
  /** A route such as `POST /api/generate/:org`, or a job such as `intake`. */
  readonly work: string
  readonly org?: string | undefined
  readonly requestId?: string | undefined
}

/** Started work. Times are in milliseconds of the process's clock. */
export interface LoopWork extends Slotted {
  /**
   * Returns the name for `subject`. One function serves many pieces of work, because one for each would be garbage. See
   * `nameOf`.
   */
  name: (subject: never) => WorkName
  subject: unknown
  readonly startedAt: number
  /** Infinity while the work is in progress. */
  endedAt: number
}

/** Number of ended pieces of work in memory: enough for the iterations of the loop that follow a long one. */
const remembered = 128

const inWork = new SlotSet<LoopWork>()
const ended: Array<LoopWork> = []
let next = 0

/** Records that work begins. `name` is called only if the loop is blocked in the meantime. */
export const begin = <S>(name: (subject: S) => WorkName, subject: S): LoopWork => {
  const work: LoopWork = { slot: -1, name, subject, startedAt: performance.now(), endedAt: Infinity }
  inWork.add(work)
  return work
}

/** Records that work has ended. */
const end = (work: LoopWork): void => {
  if (!inWork.delete(work)) return
  work.endedAt = performance.now()
  ended[next++ % remembered] = work
}

/** Like `end`, but replaces the `name` and `subject` from the beginning, which may keep more memory alive. */
export const endAs = <S>(work: LoopWork, name: (subject: S) => WorkName, subject: S): void => {
  work.name = name
  work.subject = subject
  end(work)
}

/** Returns the name of work, computed on demand. */
export const nameOf = ({ name, subject }: LoopWork): WorkName => name(subject as never)

/** Returns all known work: in progress, and recently ended. */
export const known = (): ReadonlyArray<LoopWork> => [...inWork.values(), ...ended]

/** Marks an effect as a background job, of one organization or of all, while it runs. */
export const asJob = (work: string, org?: string) => {
  const name = () => ({ work, org })
  return <A, E, R>(job: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      const begun = begin(name, undefined)
      return Effect.onExit(job, () => Effect.sync(() => end(begun)))
    })
}

/** Work that may have blocked the loop. `isLikely`: it began or ended at an edge of the hold. */
export interface Suspect {
  readonly work: LoopWork
  readonly isLikely: boolean
}

/** Maximum distance of two events in one iteration of the loop. Unit: milliseconds. */
const sameTurnMillis = 2

/**
 * Returns the work in progress during the longest time within `from` to `until` without a start or end of work, which
 * is when the loop was blocked. The most likely cause comes first, and work that began earlier comes later.
 */
export const suspectsOf = (all: ReadonlyArray<LoopWork>, from: number, until: number): ReadonlyArray<Suspect> => {
  const isWithin = (time: number) => time > from && time < until
  const times = [from, until, ...all.flatMap(({ endedAt, startedAt }) => [startedAt, endedAt].filter(isWithin))]
    .sort((a, b) => a - b)
  let begin = from
  let end = until
  let longest = -1
  for (let i = 1; i < times.length; i++) {
    const length = times[i]! - times[i - 1]!
    if (length <= longest) continue
    longest = length
    begin = times[i - 1]!
    end = times[i]!
  }
  return all
    .filter(({ endedAt, startedAt }) => startedAt <= begin + sameTurnMillis && endedAt >= end - sameTurnMillis)
    .filter(({ startedAt }) => startedAt < end)
    .map((work) => ({
      work,
      isLikely: Math.abs(work.startedAt - begin) <= sameTurnMillis || Math.abs(work.endedAt - end) <= sameTurnMillis,
    }))
    .sort((a, b) => Number(b.isLikely) - Number(a.isLikely) || b.work.startedAt - a.work.startedAt)
}
