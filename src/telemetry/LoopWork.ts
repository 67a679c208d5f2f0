import { Effect } from "effect"
import { performance } from "node:perf_hooks"
import { SlotSet, type Slotted } from "../domain/ShortLived.ts"

// Work in progress on the event loop: requests and background jobs. A late turn of the loop is attributed to them.

/** A piece of work as the log names it: never with a path or anything else that may name a person. */
export interface WorkName {
  /** A route such as `POST /api/generate/:org`, or a job such as `intake`. */
  readonly work: string
  readonly org?: string | undefined
  readonly requestId?: string | undefined
}

/** Work that was begun. Times are of the process's clock, in milliseconds. */
export interface LoopWork extends Slotted {
  /** Makes the name from `subject`. One function serves many pieces of work: one for each would be garbage. See `nameOf`. */
  name: (subject: never) => WorkName
  subject: unknown
  readonly startedAt: number
  /** Infinity while it is in work. */
  endedAt: number
}

/** Work that ended is remembered until so much more has: enough for the turns of the loop that follow a long one. */
const remembered = 128

const inWork = new SlotSet<LoopWork>()
const ended: Array<LoopWork> = []
let next = 0

/** Notes that work begins. `name` is called only when the loop was held meanwhile. */
export const begin = <S>(name: (subject: S) => WorkName, subject: S): LoopWork => {
  const work: LoopWork = { slot: -1, name, subject, startedAt: performance.now(), endedAt: Infinity }
  inWork.add(work)
  return work
}

/** Notes that work has ended. */
export const end = (work: LoopWork): void => {
  if (!inWork.delete(work)) return
  work.endedAt = performance.now()
  ended[next++ % remembered] = work
}

/** As `end`. `name` and `subject` take the places of those that it began with, which may refer to more. */
export const endAs = <S>(work: LoopWork, name: (subject: S) => WorkName, subject: S): void => {
  work.name = name
  work.subject = subject
  end(work)
}

/** The name of work, made when it is asked for. */
export const nameOf = ({ name, subject }: LoopWork): WorkName => name(subject as never)

/** All work that is known: in work, and ended of late. */
export const known = (): ReadonlyArray<LoopWork> => [...inWork.values(), ...ended]

/** Marks an effect as a background job, of an organization or of all, while it runs. */
export const asJob = (work: string, org?: string) => {
  const name = () => ({ work, org })
  return <A, E, R>(job: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      const begun = begin(name, undefined)
      return Effect.onExit(job, () => Effect.sync(() => end(begun)))
    })
}

/** Work that may have held the loop. `turn`: it began or ended right where the hold did, so it is the likely one. */
export interface Suspect {
  readonly work: LoopWork
  readonly isLikely: boolean
}

/** Two events within this time are of the same turn of the loop. Unit: milliseconds. */
const sameTurnMillis = 2

/**
 * The work in progress during the longest time within `from` to `until` without a start or end of work, which is when
 * the loop was blocked. The most likely cause comes first; work that began earlier comes later.
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
