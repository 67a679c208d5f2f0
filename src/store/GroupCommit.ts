import { Cause, Clock, Duration, Effect, Exit, Schema } from "effect"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { bounded } from "./bounded.ts"
import { isDataFault } from "./DataFault.ts"

/** Too many writes are queued, or the oldest write has been queued too long while the database is down. */
export class BufferFull extends Schema.TaggedError<BufferFull>()("BufferFull", {}) {}

/** The result of a write: committed, with the database's answer, or accepted into memory while the database is down. */
export type Committed<B> = { readonly durable: true; readonly value: B } | { readonly durable: false }

type Answer<B> = Exit.Exit<Committed<B>, BufferFull>

/** A write that failed with a defect. */
class Defective extends Schema.TaggedError<Defective>()("Defective", { defect: Schema.Defect() }) {}

/** A write in progress, and the callers that await it. */
export class PendingWrite<A, B> {
  /** Undefined for an entry that no caller awaits. */
  waiters: Array<(answer: Answer<B>) => void> | undefined
  /** The final answer; set once, when the entry leaves memory. */
  answer: Answer<B> | undefined
  /** Whether the entry was acknowledged from memory while the database was down, so that it must be written. */
  promised = false
  constructor(readonly entry: A, readonly atMillis: number) {}
}

/** Options of a group commit. */
export interface GroupCommitOptions<A, B> {
  /**
   * Writes a group in one commit and returns an answer for each entry, in order. Must be idempotent: a group may be
   * written again, even after a timeout, while the first attempt still runs. The answer of that attempt is ignored.
   */
  readonly write: (entries: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B>, SqlError>
  /**
   * Runs once when a caller may discard an entry: it was refused, or it is committed and the database is up again.
   * Before that, a repeated request finds the pending write with its answer, even while the database does not respond.
   * Default: nothing runs.
   */
  readonly onSettled?: (entry: A) => void
  /** Maximum number of entries per commit. */
  readonly maxGroup: number
  /**
   * Up to `most` commits in addition to the first. Each begins after `from` entries are queued, because smaller groups
   * cost more than they gain. `write` must be safe to run concurrently. Default: no additional commit.
   */
  readonly beside?: { readonly most: number; readonly from: number }
  /**
   * How long a group collects entries before it is written. Only for entries without waiting callers. Default: no
   * delay.
   */
  readonly gathering?: Duration.Duration
  /** Maximum number of queued entries while the database is up. Additional entries are refused. */
  readonly maxWaiting: number
  /**
   * Limits of the weights of entries, in any unit: `limit` for one commit (a heavier entry is committed alone), and
   * `held` for all entries in memory.
   */
  readonly maxWeight?: { readonly limit: number; readonly held: number; readonly of: (entry: A) => number }
  /**
   * Maximum number of entries in memory while the database is down. Retries of the oldest entries probe the database.
   * With 0, a write that cannot be committed at once is refused and dropped, so that it has no later effect.
   */
  readonly bufferSize: number
  /** Maximum age of the oldest entry in memory while the database is down. After that, new entries are refused. */
  readonly bufferAge: Duration.Duration
  /** A slower commit counts as an outage of the database. */
  readonly timeout: Duration.Duration
  /** How long closing waits for unwritten entries. */
  readonly drainTimeout: Duration.Duration
}

/** Commits entries of concurrent callers in groups. */
export interface GroupCommit<A, B> {
  /** Queues `entry`; await it with `settled`. Undefined if too many entries are queued. */
  readonly submit: (entry: A) => PendingWrite<A, B> | undefined
  /**
   * Waits until the entry is committed or, while the database is down, in memory. Fails with `BufferFull` if the entry
   * was refused.
   */
  readonly settled: (write: PendingWrite<A, B>) => Effect.Effect<Committed<B>, BufferFull>
  /** Number of entries in memory. */
  readonly size: () => number
  /**
   * Whether entries are acknowledged from memory: the last commit failed, or acknowledged entries are not stored yet.
   */
  readonly isDown: () => boolean
  /** Whether another entry may be acknowledged from memory. True unless the database is known to be down. */
  readonly hasRoom: () => boolean
}

/**
 * Commits an entry and returns the database's answer. Fails with `BufferFull` if the entry was refused, or if the
 * database is down.
 */
export const commitWith = <A, B>(
  { settled, submit }: Pick<GroupCommit<A, B>, "settled" | "submit">,
  entry: A,
): Effect.Effect<B, BufferFull> =>
  Effect.suspend(() => {
    const write = submit(entry)
    if (write === undefined) return new BufferFull()
    return Effect.flatMap(settled(write), (done) => done.durable ? Effect.succeed(done.value) : new BufferFull())
  })

/**
 * Groups concurrent writes into commits: while a group is being committed, the next group collects entries. Uses plain
 * callbacks, because it is on a hot path.
 *
 *     queued ──write──► settled (durable)
 *       │  database down: waiting callers are answered "not durable", the entry stays
 *       └──◄── retried every 250 ms until the database is back
 */
export const make = Effect.fnUntraced(function* <A, B>(options: GroupCommitOptions<A, B>) {
  // Long: short callbacks of a hot path, which share the queue and its flags.
  const clock = yield* Clock.Clock
  const { beside = { most: 0, from: Infinity }, gathering, maxWeight } = options
  const keepsNone = options.bufferSize === 0
  const bufferSize = Math.max(1, options.bufferSize)
  const bufferAgeMillis = Duration.toMillis(options.bufferAge)
  let queue: Array<PendingWrite<A, B>> = []
  let inFlight = 0
  // Arrival of the oldest entry of each group that is being written. Unit: Unix milliseconds.
  const groupsSince: Array<number> = []
  let heldWeight = 0
  // Whether the last commit failed.
  let failing = false
  // Whether entries are acknowledged from memory: the database fails, or has not stored all acknowledged entries yet.
  let down = false
  // Entries that were committed while others are still acknowledged from memory.
  let committedWhileDown: Array<A> = []
  // Writers without a group.
  const idle: Array<() => void> = []
  let drained: (() => void) | undefined

  const size = () => queue.length + inFlight

  const notDurable: Answer<B> = Exit.succeed({ durable: false })
  const full: Answer<B> = Exit.fail(new BufferFull())

  const answerAll = (write: PendingWrite<A, B>, answer: Answer<B>) => {
    const { waiters } = write
    if (waiters === undefined) return
    write.waiters = undefined
    for (const resume of waiters) resume(answer)
  }

  const settle = (write: PendingWrite<A, B>, answer: Answer<B>) => {
    write.answer = answer
    if (maxWeight !== undefined) heldWeight -= maxWeight.of(write.entry)
    if (down && Exit.isSuccess(answer) && committedWhileDown.length < bufferSize) committedWhileDown.push(write.entry)
    else options.onSettled?.(write.entry)
    answerAll(write, answer)
  }

  /** Ends an outage once every acknowledged entry is stored. */
  const endOutage = () => {
    if (!down || queue.some((write) => write.promised)) return
    down = false
    const entries = committedWhileDown
    committedWhileDown = []
    for (const entry of entries) options.onSettled?.(entry)
  }

  /** Acknowledges an entry that stays in memory. From now on, it must not be dropped. */
  const promise = (write: PendingWrite<A, B>) => {
    write.promised = true
    answerAll(write, notDurable)
  }

  /**
   * Keeps a group that could not be written, and answers all its callers. Acknowledged entries stay regardless of the
   * buffer's size, other entries only if the buffer has room.
   */
  const keep = (group: ReadonlyArray<PendingWrite<A, B>>, reason: string): Effect.Effect<void> => {
    const wasFailing = failing
    failing = true
    // Oldest first, even if the halves of a group return one after the other.
    const waiting = group.concat(queue).sort((a, b) => a.atMillis - b.atMillis)
    if (keepsNone) {
      queue = []
      for (const write of waiting) settle(write, full)
      return wasFailing
        ? Effect.void
        : Effect.logWarning("The database refuses writes. Requests that need them are refused", { reason })
    }
    down = true
    let room = bufferSize - waiting.filter((write) => write.promised).length
    const refused: Array<PendingWrite<A, B>> = []
    queue = waiting.filter((write) => {
      if (write.promised || room-- > 0) return true
      refused.push(write)
      return false
    })
    // Answers only after the queue is updated, because an answered caller may submit its next entry at once.
    for (const write of [...queue]) promise(write)
    for (const write of refused) settle(write, full)
    // Logged once per outage, because a group is retried four times a second.
    return wasFailing
      ? Effect.void
      : Effect.logWarning("The database refuses writes. They are kept in memory", { reason })
  }

  const writeGroup = (group: ReadonlyArray<PendingWrite<A, B>>): Effect.Effect<void> =>
    options.write(group.map((write) => write.entry)).pipe(
      bounded(options.timeout),
      // A defect would end the writer and thereby all later writes.
      Effect.catchDefect((defect) => Effect.fail(isSqlError(defect) ? defect : new Defective({ defect }))),
      Effect.matchEffect({
        onSuccess: (values) =>
          Effect.suspend(() => {
            inFlight -= group.length
            const wasFailing = failing
            failing = false
            endOutage()
            for (let i = 0; i < group.length; i++) {
              settle(group[i]!, Exit.succeed({ durable: true, value: values[i]! }))
            }
            return wasFailing ? Effect.logInfo("The database accepts writes again") : Effect.void
          }),
        onFailure: (error) => {
          const isFault = error._tag === "Defective" || (error._tag === "SqlError" && isDataFault(error))
          if (isFault && group.length > 1) {
            const half = group.length >> 1
            return Effect.andThen(writeGroup(group.slice(0, half)), writeGroup(group.slice(half)))
          }
          return Effect.suspend(() => {
            inFlight -= group.length
            if (!isFault) {
              return keep(group, Cause.isTimeoutError(error) ? "a commit did not end in time" : error.message)
            }
            if (error._tag !== "Defective") {
              // A database that refuses data is working.
              const wasFailing = failing
              failing = false
              endOutage()
              settle(group[0]!, Exit.die(error))
              return wasFailing ? Effect.logInfo("The database accepts writes again") : Effect.void
            }
            settle(group[0]!, Exit.die(error.defect))
            return Effect.logError("A write failed unexpectedly and was dropped", error.defect)
          })
        },
      }),
    )

  /** Whether a writer may take a group. While the database fails, one commit at a time probes it. */
  const mayBegin = () => queue.length > 0 && (groupsSince.length === 0 || (!failing && queue.length >= beside.from))

  const waitForWork = Effect.callback<void>((resume) => {
    if (mayBegin()) return resume(Effect.void)
    idle.push(() => resume(Effect.void))
  })

  const wake = () => {
    if (idle.length > 0 && mayBegin()) idle.pop()!()
  }

  const groupSize = (): number => {
    if (maxWeight === undefined) return options.maxGroup
    let weight = 0
    const most = Math.min(queue.length, options.maxGroup)
    for (let i = 0; i < most; i++) {
      weight += maxWeight.of(queue[i]!.entry)
      if (weight > maxWeight.limit) return Math.max(1, i)
    }
    return most
  }

  const writer = Effect.gen(function* () {
    yield* waitForWork
    // Another writer may have been woken for these entries.
    if (!mayBegin()) return
    const since = queue[0]!.atMillis
    groupsSince.push(since)
    if (failing) yield* Effect.sleep("250 millis")
    else if (gathering !== undefined && queue.length < options.maxGroup) yield* Effect.sleep(gathering)
    const group = queue.slice(0, groupSize())
    queue = queue.slice(group.length)
    inFlight += group.length
    if (group.length > 0) yield* writeGroup(group)
    groupsSince.splice(groupsSince.indexOf(since), 1)
    if (size() === 0) drained?.()
    wake()
  })

  for (let writers = 0; writers <= beside.most; writers++) yield* Effect.forkScoped(Effect.forever(writer))

  // Registered after the writers, so that it runs while they still write.
  yield* Effect.addFinalizer(() =>
    Effect.callback<void>((resume) => {
      if (size() === 0) return resume(Effect.void)
      drained = () => resume(Effect.void)
    }).pipe(
      Effect.timeoutOption(options.drainTimeout),
      Effect.andThen(Effect.suspend(() =>
        size() === 0
          ? Effect.void
          : Effect.logError(`${size()} writes that were only in memory are lost with this process`)
      )),
    )
  )

  const oldest = () => Math.min(queue[0]?.atMillis ?? Infinity, ...groupsSince)

  const isFull = () => size() >= bufferSize || clock.currentTimeMillisUnsafe() - oldest() > bufferAgeMillis

  const hasRoom = () => !keepsNone && !(down && isFull())

  const submit = (entry: A): PendingWrite<A, B> | undefined => {
    if (down ? isFull() : queue.length >= options.maxWaiting) return undefined
    if (maxWeight !== undefined) {
      const weight = maxWeight.of(entry)
      // An entry heavier than the limit is accepted if no other entry is in memory.
      if (heldWeight > 0 && heldWeight + weight > maxWeight.held) return undefined
      heldWeight += weight
    }
    const write = new PendingWrite<A, B>(entry, clock.currentTimeMillisUnsafe())
    queue.push(write)
    wake()
    return write
  }

  const settled = (write: PendingWrite<A, B>): Effect.Effect<Committed<B>, BufferFull> =>
    Effect.suspend(() => {
      if (write.answer !== undefined) return write.answer
      if (down) {
        write.promised = true
        return notDurable
      }
      return Effect.callback((resume) => {
        if (write.waiters === undefined) write.waiters = [resume]
        else write.waiters.push(resume)
        return Effect.sync(() => write.waiters = write.waiters?.filter((waiter) => waiter !== resume))
      })
    })

  return { submit, settled, size, isDown: () => down, hasRoom } satisfies GroupCommit<A, B>
})
