import { assert, describe, it } from "@effect/vitest"
import { type GroupCommitBugs, GroupCommitWorld } from "./GroupCommitWorld.ts"
import { firstBroken, runSchedules } from "./support/runSchedules.ts"

const runWith = (bugs: GroupCommitBugs) => (seed: number) => new GroupCommitWorld(seed, bugs).run()

describe("Schedules of group commits", () => {
  it("acknowledge only stored writes, and answer every write once", () =>
    runSchedules({
      file: "test/simulation/GroupCommitSchedules.test.ts",
      task: "test",
      count: 1_500,
      // A store that was down and then refuses the data of the last write that waits.
      regressions: [343],
      run: runWith({}),
    }))
})

describe("Schedules of group commits find", () => {
  const finds = (bug: string, bugs: GroupCommitBugs, sentence: RegExp) =>
    it(bug, () => {
      const found = firstBroken(300, runWith(bugs))
      assert.match(found?.broken ?? "no schedule of 300 is broken", sentence)
    })

  finds(
    "a write that is acknowledged before it is committed",
    { acknowledgesEarly: true },
    /acknowledged and not stored/,
  )
  finds("a release that is forgotten when a write fails", { forgetsRelease: true }, /is not released/)
})
