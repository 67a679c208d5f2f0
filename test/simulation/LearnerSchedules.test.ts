import { assert, describe, it } from "@effect/vitest"
import { type Input, type LearnerState, next } from "../../src/learning/LearnerState.ts"
import { type LearnerBugs, LearnerWorld } from "./LearnerWorld.ts"
import { firstBroken, runSchedules } from "./support/runSchedules.ts"

const runWith = (bugs: LearnerBugs) => (seed: number) => {
  const world = new LearnerWorld(seed, bugs)
  const broken = world.run()
  return broken === undefined ? undefined : `${broken}. ${world.describe()}`
}

/** Decides as the learner does, about an input that a bug has changed. */
const changing = (change: (input: Input, state: LearnerState) => Input): typeof next => (state, input, now) =>
  next(state, change(input, state), now)

/** Decides as the learner does, and changes the state afterwards. */
const afterwards =
  (change: (after: LearnerState, input: Input, before: LearnerState) => LearnerState): typeof next =>
  (state, input, now) => {
    const [after, commands] = next(state, input, now)
    return [change(after, input, state), commands]
  }

describe("Schedules of learners", () => {
  it("count every row once and keep models fresh under all faults", () =>
    runSchedules({
      file: "test/simulation/LearnerSchedules.test.ts",
      task: "test",
      count: 1_500,
      // Clocks set back, a refresh after a crash, a window after the engine's worker ended.
      regressions: [23, 94, 152, 318, 355],
      run: runWith({}),
    }))
})

describe("Schedules of learners find", () => {
  const finds = (bug: string, bugs: LearnerBugs, sentence: RegExp) =>
    it(bug, () => {
      const found = firstBroken(300, runWith(bugs))
      assert.match(found?.broken ?? "no schedule of 300 is broken", sentence)
    })

  finds("two folds that take the same rows", { foldsWithoutLock: true }, /is counted twice/)
  finds(
    "a fold that is acknowledged before it is committed",
    { acknowledgesEarly: true },
    /^Model .* has|in the ledger/,
  )
  finds("a lost wake for the fit", {
    next: afterwards((after, input, before) => input._tag === "Folded" ? { ...after, isStale: before.isStale } : after),
  }, /the model lacks row/)
  finds("folds of another learner that are not noticed", {
    next: changing((input, { known, running }) => {
      if (input._tag === "RevisionRead" && known !== undefined) return { ...input, revision: known.revision }
      if (input._tag !== "Folded" || running?.phase._tag !== "Folding") return input
      return { ...input, revision: running.phase.before.revision + 1 }
    }),
  }, /^Model .* has|the model lacks row/)
  finds("a task that is not released when its caller gives up", {
    next: (state, input, now) => input._tag === "Interrupted" ? [state, []] : next(state, input, now),
  }, /the model lacks row|fails|does not answer/)
  finds("a fit that was lost with its node", {
    next: changing((input) => input._tag === "Opened" ? { ...input, isFitted: true } : input),
  }, /After a refresh the model lacks row/)
  finds("counts that the engine has lost", {
    next: (state, input, now) => input._tag === "EngineFailed" ? [state, []] : next(state, input, now),
  }, /does not answer|window .* is not fitted/)
})
