import { Effect } from "effect"
import { ConnectionError, LockTimeoutError, SqlError } from "effect/sql/SqlError"
import type { FittedModel } from "../../src/learning/LearnerState.ts"
import type { LearnerStore } from "../../src/learning/LearnerStore.ts"
import type { Seeded } from "./support/Seeded.ts"
import type { SimulatedNode } from "./support/SimulatedNode.ts"
import type { VirtualTime } from "./support/VirtualTime.ts"

// The tables of one template's learning in memory, with the promises that PostgreSQL makes about them: a transaction is
// committed at one instant or not at all, and whoever is cut off does not learn which.
//
// Ledger rows are numbered from 0 in the order in which they are appended, and each counts one send. As folds take the
// oldest rows first, tallies and models hold a prefix of all rows: the number of rows says what they contain.

/** Ledger rows that one fold takes. */
const batchRows = 4

/** Row numbers as the counts of a variant each, as tallies and the engine carry them. */
export const tallyOf = (row: number) => ({
  copyId: String(row),
  context: "",
  start: 0,
  track: "learned" as const,
  counts: { decisions: 1 },
})

export interface StoredModel {
  readonly version: number
  /** How often each row is counted. */
  readonly times: ReadonlyArray<number>
  readonly objective: string
  readonly fittedAt: number
}

/** The store's effect on a statement. */
export interface StoreFaults {
  /** Statements fail at once. */
  readonly isDown: () => boolean
  /** Commits are made and their answers are lost. */
  readonly losesAnswers: () => boolean
  /** Time that one way between node and store takes. Unit: milliseconds. */
  readonly latency: () => number
}

/** Bugs to plant in the store. */
export interface StoreBugs {
  /** Folds that overlap take the same rows. */
  readonly foldsWithoutLock?: boolean
  /** A fold is acknowledged before it is committed. */
  readonly acknowledgesEarly?: boolean
}

const lost = () => new SqlError({ reason: new ConnectionError({ cause: new Error("connection lost") }) })
const locked = () => new SqlError({ reason: new LockTimeoutError({ cause: new Error("locked") }) })

export class LearnerStoreModel {
  /** When each row was appended, by its number. */
  readonly appendedAt: Array<number> = []
  ledger: Array<number> = []
  /** How often each row is counted in the tallies. */
  tallies: Array<number> = []
  revision: number | undefined
  fittedRevision: number | undefined
  foldedAt = 0
  /** Rows in the tallies at each revision. */
  readonly rowsAt = new Map<number, number>()
  model: StoredModel | undefined
  isLocked = false
  /** The first broken invariant. */
  broken: string | undefined

  constructor(
    private readonly time: VirtualTime,
    private readonly random: Seeded,
    private readonly faults: StoreFaults,
    private readonly bugs: StoreBugs = {},
  ) {}

  append(): void {
    this.ledger.push(this.appendedAt.length)
    this.appendedAt.push(this.time.now)
  }

  private break(sentence: string): void {
    this.broken ??= `${sentence} (after ${Math.round(this.time.now)} ms)`
  }

  /** One transaction of a node: `commit` runs at one instant and returns a value or an error. */
  transaction<A>(node: SimulatedNode, commit: () => A | SqlError): Effect.Effect<A, SqlError> {
    return Effect.callback<A, SqlError>((resume) => {
      const { faults, random, time } = this
      let isAwaited = true
      const answer = (effect: Effect.Effect<A, SqlError>) =>
        node.after(faults.latency(), () => {
          if (isAwaited) resume(effect)
        })
      if (faults.isDown()) answer(Effect.fail(lost()))
      else {
        time.after(faults.latency(), () => {
          // The server may notice that the client has gone, or commit first.
          if ((!isAwaited || !node.alive) && random.chance(0.5)) return
          if (faults.isDown()) return answer(Effect.fail(lost()))
          const value = commit()
          const isLost = faults.losesAnswers() && random.chance(0.5)
          answer(value instanceof SqlError ? Effect.fail(value) : isLost ? Effect.fail(lost()) : Effect.succeed(value))
        })
      }
      return Effect.sync(() => void (isAwaited = false))
    })
  }

  /** Moves rows from the ledger into the tallies. */
  private take(rows: ReadonlyArray<number>, now: number): number {
    this.ledger = this.ledger.filter((row) => !rows.includes(row))
    for (const row of rows) {
      this.tallies[row] = (this.tallies[row] ?? 0) + 1
      if (this.tallies[row]! > 1) this.break(`Row ${row} is counted twice`)
    }
    this.revision = (this.revision ?? 0) + 1
    this.foldedAt = now
    this.rowsAt.set(this.revision, this.tallies.length)
    return this.revision
  }

  private fold(node: SimulatedNode, now: number) {
    const batchOf = (rows: ReadonlyArray<number>, revision: number | undefined) => ({
      rows: rows.length,
      isFull: rows.length === batchRows,
      revision,
      traces: new Set<string>(),
      tallies: rows.map(tallyOf),
      delays: [],
      variantDelays: [],
      repeats: [],
    })
    const oldest = () => this.ledger.slice(0, batchRows)
    const commit = (rows: ReadonlyArray<number>) => batchOf(rows, rows.length === 0 ? undefined : this.take(rows, now))
    if (this.bugs.foldsWithoutLock === true) {
      return Effect.flatMap(
        this.transaction(node, () => oldest()),
        (rows) => this.transaction(node, () => this.isLocked ? locked() : commit(rows)),
      )
    }
    if (this.bugs.acknowledgesEarly === true) {
      return this.transaction(node, () => {
        if (this.isLocked) return locked()
        const rows = oldest()
        if (this.random.chance(0.9)) return commit(rows)
        return batchOf(rows, (this.revision ?? 0) + 1)
      })
    }
    return this.transaction(node, () => this.isLocked ? locked() : commit(oldest()))
  }

  private publish(node: SimulatedNode, { answer, fit }: FittedModel) {
    return this.transaction(node, () => {
      if (this.isLocked) return locked()
      if (this.model !== undefined && this.model.version >= fit.version) return false
      const model = answer.model as unknown as StoredModel
      const least = this.rowsAt.get(fit.revision) ?? 0
      const most = this.tallies.length
      if (model.times.length < least || model.times.length > most || model.times.some((times) => times !== 1)) {
        this.break(
          `Model ${fit.version} of revision ${fit.revision} has ${model.times.length} rows (the tallies had ${least}, ` +
            `and now have ${most}), counted ${[...new Set(model.times)].join(" and ")} times`,
        )
      }
      this.model = { ...model, version: fit.version }
      this.fittedRevision = fit.revision
      return true
    })
  }

  /** The store as a learner on a node sees it. */
  of(node: SimulatedNode): LearnerStore {
    return {
      read: () =>
        this.transaction(node, () => ({
          revision: this.revision ?? 0,
          version: this.model?.version ?? 0,
          isFitted: this.fittedRevision === this.revision,
          tallies: this.tallies.flatMap((times, row) => Array.from({ length: times }, () => tallyOf(row))),
          delays: [],

          model: null,
        })),
      attempt: (fold) =>
        Effect.flatMap(
          this.transaction(node, () => this.ledger.length > 0),
          (isPending) =>
            Effect.gen(function* () {
              return isPending ? yield* fold : undefined
            }),
        ),
      fold: (now) => this.fold(node, now),
      revision: this.transaction(node, () => this.revision),
      publish: (fitted) => this.publish(node, fitted),
    }
  }

  /** Keeps the tables to itself for a while, and counts everything that it saw at its begin again. */
  rebuild(forMillis: number): void {
    if (this.isLocked) return
    this.isLocked = true
    const seen = this.appendedAt.length
    this.time.after(forMillis, () => {
      this.ledger = this.ledger.filter((row) => row >= seen)
      this.tallies = Array.from({ length: seen }, () => 1)
      this.revision = (this.revision ?? 0) + 2
      this.rowsAt.set(this.revision, seen)
      this.isLocked = false
    })
  }

  /** Whether the sweep of models finds the template: its model is behind the tallies, or of an earlier hour. */
  isStale(hourStart: number): boolean {
    return this.revision !== undefined &&
      (this.model === undefined || this.fittedRevision !== this.revision || this.model.fittedAt < hourStart)
  }

  /** Checks that the published model has all rows that were appended by then. */
  checkModel(appendedBy: number, when: string): void {
    const rows = this.model?.times.length ?? 0
    const next = this.appendedAt[rows]
    if (next !== undefined && next <= appendedBy) {
      this.break(`${when} the model lacks row ${rows}, which was appended after ${Math.round(next)} ms`)
    }
  }

  /** Checks that the tallies equal the counts of a rebuild. */
  checkTallies(): void {
    if (this.ledger.length > 0) this.break(`${this.ledger.length} rows are left in the ledger`)
    if (this.tallies.length !== this.appendedAt.length || this.tallies.some((times) => times !== 1)) {
      this.break(`The tallies hold ${this.tallies.join()} of ${this.appendedAt.length} rows`)
    }
  }
}
