import { assert, describe, it } from "@effect/vitest"
import type { FitAnswer, FitRequest } from "../../src/learning/Engine.ts"
import {
  type Command,
  initial,
  type Input,
  type Known,
  type LearnerState,
  next,
  pauseBeforeFit,
  type PreparedFit,
  type Task,
} from "../../src/learning/LearnerState.ts"

const now = 1_700_000_000_000
const facts = { objective: '"click"', sends: 10_000 }
const known: Known = { revision: 4, version: 2, objective: '"click"' }
/** A learner whose engine has the stored counts, and that chose its attributes a moment ago. */
const awake: LearnerState = { ...initial, known, attributesAt: now }
const counted = { tallies: [], delays: [] }
const request = { version: "t:3", now } as unknown as FitRequest
const answer = { millis: 30 } as unknown as FitAnswer
const fit: PreparedFit = { request, revision: 4, version: 3, cause: undefined }

const began = (task: Task, objective = facts.objective): Input => ({
  _tag: "Began",
  task,
  facts: { ...facts, objective },
})
const folded = (over: Partial<Extract<Input, { readonly _tag: "Folded" }>> = {}): Input => ({
  _tag: "Folded",
  rows: 10,
  isFull: false,
  revision: 5,
  counted,
  at: now,
  cause: undefined,
  ...over,
})

/** Passes all inputs and returns the last state, and the commands of each input by their names. */
const play = (state: LearnerState, ...inputs: ReadonlyArray<Input>) => {
  const commands: Array<Command> = []
  for (const input of inputs) {
    const [after, more] = next(state, input, now)
    state = after
    commands.push(...more)
  }
  return { state, commands, names: commands.map(({ _tag }) => _tag) }
}

const fold: Task = { _tag: "Fold", isStale: false }
const refresh: Task = { _tag: "Refresh" }
const prepare: Task = { _tag: "PrepareFit" }
const window: Task = { _tag: "PrepareWindow", window: { lookbackDays: 14, offsetDays: 0 } }
const publish: Task = { _tag: "Publish", fitted: { fit, answer } }

describe("LearnerState", () => {
  it("reads the database before the first fold only", () => {
    const first = play(
      initial,
      began(fold),
      { _tag: "Opened", known, isFitted: true },
      { _tag: "FoldBegan" },
      folded(),
      {
        _tag: "Applied",
      },
    )
    assert.deepStrictEqual(first.names, ["Open", "Fold", "Apply", "Finish"])
    assert.deepStrictEqual(first.state.known, { ...known, revision: 5 })
    assert.isTrue(first.state.isStale)
    const second = play(first.state, began(fold), { _tag: "FoldBegan" }, folded({ rows: 0 }))
    assert.deepStrictEqual(second.names, ["Fold", "Finish"])
    assert.deepStrictEqual(second.state.known, { ...known, revision: 5 })
  })

  it("folds batches until one is not full", () => {
    const { commands, names } = play(
      awake,
      began(fold),
      { _tag: "FoldBegan" },
      folded({ isFull: true }),
      { _tag: "Applied" },
      { _tag: "FoldBegan" },
      folded({ revision: 6 }),
      { _tag: "Applied" },
    )
    assert.deepStrictEqual(names, ["Fold", "Apply", "Fold", "Apply", "Finish"])
    assert.deepStrictEqual(commands[2], { _tag: "Fold", revision: 5 })
  })

  it("keeps its model if there is nothing to fold", () => {
    const { names, state } = play(awake, began(fold), { _tag: "NothingFolded" })
    assert.deepStrictEqual(names, ["Fold", "Finish"])
    assert.deepStrictEqual(state, awake)
  })

  it("drops a batch from its counts if another learner folded it first", () => {
    const { names, state } = play(awake, began(fold), { _tag: "FoldBegan" }, folded({ revision: 6 }))
    assert.deepStrictEqual(names, ["Fold", "Finish"])
    assert.isUndefined(state.known)
    assert.isTrue(state.isStale)
    assert.deepStrictEqual(play(state, began(prepare), { _tag: "RevisionRead", revision: 6 }).names, [
      "ReadRevision",
      "Open",
    ])
  })

  it("reads the database again after a fold that may have been committed", () => {
    for (const ending of [{ _tag: "Failed", isLocked: false }, { _tag: "Interrupted" }] as const) {
      const { state } = play(awake, began(fold), { _tag: "FoldBegan" }, ending)
      assert.isUndefined(state.known)
      assert.isUndefined(state.running)
    }
  })

  it("keeps its counts if the fold did not begin or a rebuild was running", () => {
    const early = play(awake, began(fold), { _tag: "Failed", isLocked: false })
    assert.deepStrictEqual(early.names, ["Fold", "Fail"])
    assert.deepStrictEqual(early.state, awake)
    const locked = play(awake, began(fold), { _tag: "FoldBegan" }, { _tag: "Failed", isLocked: true })
    assert.deepStrictEqual(locked.state, awake)
  })

  it("reads the database again if the engine failed to apply a batch", () => {
    const { names, state } = play(awake, began(fold), { _tag: "FoldBegan" }, folded(), {
      _tag: "Failed",
      isLocked: false,
    })
    assert.deepStrictEqual(names, ["Fold", "Apply", "Fail"])
    assert.isUndefined(state.known)
    assert.isTrue(state.isStale)
  })

  it("becomes stale by a wake that requests a fit, even while a rebuild locks the ledger", () => {
    const stale: Task = { _tag: "Fold", isStale: true }
    assert.isTrue(play(awake, began(stale), { _tag: "NothingFolded" }).state.isStale)
    assert.isTrue(play(awake, began(stale), { _tag: "Failed", isLocked: true }).state.isStale)
    assert.isFalse(play(awake, began(stale), { _tag: "Failed", isLocked: false }).state.isStale)
    assert.isFalse(play(awake, began(fold), { _tag: "Failed", isLocked: true }).state.isStale)
  })

  it("reopens the template and refits after a change of its objective", () => {
    const { commands, state } = play(awake, began(fold, '"conversion"'))
    assert.deepStrictEqual(commands, [{ _tag: "Open", objective: '"conversion"' }])
    assert.isTrue(state.isStale)
  })

  it("refreshes without a fit if nothing changed", () => {
    const { commands, names } = play(awake, began(refresh), { _tag: "NothingFolded" }, {
      _tag: "RevisionRead",
      revision: 4,
    })
    assert.deepStrictEqual(names, ["Fold", "ReadRevision", "Finish"])
    assert.deepStrictEqual(commands[2], { _tag: "Finish", fit: undefined })
  })

  it("refreshes with a fit if tallies were folded by any node, or a fit is in progress", () => {
    const read: Input = { _tag: "RevisionRead", revision: 4 }
    const here = play(awake, began(refresh), { _tag: "FoldBegan" }, folded(), { _tag: "Applied" }, {
      _tag: "RevisionRead",
      revision: 5,
    }, { _tag: "Gathered", request })
    assert.deepStrictEqual(here.commands.at(-1), { _tag: "Finish", fit: { ...fit, revision: 5 } })
    assert.isFalse(here.state.isStale)
    const elsewhere = play(awake, began(refresh), { _tag: "NothingFolded" }, { _tag: "RevisionRead", revision: 7 })
    assert.deepStrictEqual(elsewhere.names, ["Fold", "ReadRevision", "Open"])
    const underWay = play({ ...awake, isFitting: true }, began(refresh), { _tag: "NothingFolded" }, read)
    assert.deepStrictEqual(underWay.names, ["Fold", "ReadRevision", "Gather"])
  })

  it("refreshes with a fit if the stored model is older than the stored counts", () => {
    const { names } = play(
      initial,
      began(refresh),
      { _tag: "Opened", known, isFitted: false },
      { _tag: "NothingFolded" },
      { _tag: "RevisionRead", revision: 4 },
    )
    assert.deepStrictEqual(names, ["Open", "Fold", "ReadRevision", "Gather"])
  })

  it("prepares a fit only if the model is still stale", () => {
    assert.deepStrictEqual(play(awake, began(prepare)).commands, [{ _tag: "Finish", fit: undefined }])
    const { commands, state } = play({ ...awake, isStale: true }, began(prepare), {
      _tag: "RevisionRead",
      revision: 4,
    }, { _tag: "Gathered", request })
    assert.deepStrictEqual(commands.at(-1), { _tag: "Finish", fit })
    assert.isFalse(state.isStale)
    assert.isTrue(state.isFitting)
    assert.isFalse(play(state, { _tag: "FitEnded" }).state.isFitting)
  })

  it("fits from memory while the database is unavailable", () => {
    const down: Input = { _tag: "Failed", isLocked: false }
    assert.deepStrictEqual(play({ ...awake, isStale: true }, began(prepare), down).names, ["ReadRevision", "Gather"])
    assert.deepStrictEqual(play(awake, began(window), down).names, ["ReadRevision", "Gather"])
    assert.deepStrictEqual(play(awake, began(refresh), { _tag: "NothingFolded" }, down).names.at(-1), "Fail")
  })

  it("becomes stale again after a failed or interrupted fit, and reads the database", () => {
    const gathering = play({ ...awake, isStale: true }, began(prepare), { _tag: "RevisionRead", revision: 4 }).state
    const due = play(gathering, { _tag: "Gathered", request }).state
    for (
      const { state } of [
        play(gathering, { _tag: "Failed", isLocked: false }),
        play(gathering, { _tag: "Interrupted" }),
        play(due, { _tag: "FitGivenUp" }),
      ]
    ) {
      assert.isTrue(state.isStale)
      assert.isUndefined(state.known)
      assert.isUndefined(state.running)
    }
  })

  it("keeps its state for the fit of a window", () => {
    const read: Input = { _tag: "RevisionRead", revision: 4 }
    const done = play(awake, began(window), read, { _tag: "Gathered", request })
    assert.deepStrictEqual(done.commands[1], {
      _tag: "Gather",
      version: 2,
      window: { lookbackDays: 14, offsetDays: 0 },
      choosesAttributes: false,
    })
    assert.deepStrictEqual(done.state, awake)
    assert.deepStrictEqual(play(awake, began(window), read, { _tag: "Failed", isLocked: false }).state, awake)
  })

  it("reopens the template after the engine failed to fit a window", () => {
    const { state } = play(awake, { _tag: "EngineFailed" })
    assert.deepStrictEqual(state, { ...awake, known: undefined })
  })

  it("selects attributes at every fit while there are few sends, then once an hour", () => {
    const choices = (sends: number, age: number) => {
      const state = { ...awake, isStale: true, attributesAt: now - age }
      const { commands } = play(state, { _tag: "Began", task: prepare, facts: { ...facts, sends } }, {
        _tag: "RevisionRead",
        revision: 4,
      })
      return commands.at(-1)?._tag === "Gather" && commands.at(-1)
    }
    assert.include(choices(4999, 0), { choosesAttributes: true })
    assert.include(choices(5000, 3_599_999), { choosesAttributes: false })
    assert.include(choices(5000, 3_600_000), { choosesAttributes: true })
    assert.include(choices(5000, -3_600_000), { choosesAttributes: true })
  })

  it("publishes a fit unless a later model was published", () => {
    const { names, state } = play(awake, began(publish), { _tag: "Published", isWritten: true })
    assert.deepStrictEqual(names, ["Publish", "Finish"])
    assert.deepStrictEqual(state, { ...awake, known: { ...known, version: 3 }, fittedAt: now, fitMillis: 30 })
    const late = play({ ...awake, known: { ...known, version: 3 } }, began(publish))
    assert.deepStrictEqual(late.names, ["Finish"])
  })

  it("starts over if another learner published the same version", () => {
    const { state } = play(awake, began(publish), { _tag: "Published", isWritten: false })
    assert.isUndefined(state.known)
    assert.isTrue(state.isStale)
  })

  it("keeps a fit that could not be published, and publishes it again", () => {
    const { names, state } = play(awake, began(publish), { _tag: "Failed", isLocked: true })
    assert.deepStrictEqual(names, ["Publish", "Fail"])
    assert.deepStrictEqual(state.known, known)
    assert.isFalse(state.isStale)
  })

  it("waits after a fit for one second or 20 times its duration", () => {
    const fittedAt = now - 300
    assert.strictEqual(pauseBeforeFit({ ...awake, fittedAt, fitMillis: 5 }, now), 700)
    assert.strictEqual(pauseBeforeFit({ ...awake, fittedAt, fitMillis: 100 }, now), 1700)
    assert.strictEqual(pauseBeforeFit({ ...awake, fittedAt: now - 5000, fitMillis: 100 }, now), 0)
  })

  it("does not wait longer when the clock is set back", () => {
    assert.strictEqual(pauseBeforeFit({ ...awake, fittedAt: now + 3_600_000, fitMillis: 100 }, now), 2000)
  })

  it("throws on inputs out of order", () => {
    assert.throws(() => next(awake, folded(), now), "without a task")
    const { state } = play(awake, began(fold))
    assert.throws(() => next(state, began(fold), now), "cannot begin another task")
    assert.throws(() => next(state, { _tag: "Applied" }, now), "in the phase Folding received Applied out of order")
  })
})
