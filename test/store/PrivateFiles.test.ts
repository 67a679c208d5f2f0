import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as DataDirLock from "../../src/store/DataDirLock.ts"
import { run, waitUntil } from "../support/service.ts"

const modeOf = (path: string) => statSync(path).mode & 0o777

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "parlance-private-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true })),
)

describe("The data folder", () => {
  it.live("is made for its owner alone, with all that the service writes into it", () =>
    Effect.scoped(Effect.gen(function* () {
      const dataDir = join(yield* folder, "made", "here")
      // Without a prepared store, so that every file is made by the service.
      const { child, ended, output } = run(["serve"], { DATA_DIR: dataDir, PORT: "0" })
      yield* Effect.addFinalizer(() =>
        Effect.promise(() => {
          child.kill("SIGKILL")
          return ended
        })
      )
      yield* Effect.promise(() => waitUntil("it serves", () => output().includes("Parlance answers at"), 150))
      assert.strictEqual(modeOf(dataDir), 0o700)
      assert.isAbove(readdirSync(join(dataDir, "db")).length, 5)
      // The store sets the modes of its files itself; what counts is that nobody else gets into their folder.
      assert.deepStrictEqual(readdirSync(dataDir).filter((name) => (modeOf(join(dataDir, name)) & 0o077) !== 0), [])
    })))

  it.live("that was open loses the rights of others on what is the service's, and on nothing else", () =>
    Effect.scoped(Effect.gen(function* () {
      const dataDir = yield* folder
      mkdirSync(join(dataDir, "db"))
      for (const name of ["admin-token", "notes"]) writeFileSync(join(dataDir, name), "x")
      chmodSync(dataDir, 0o755)
      for (const name of ["db", "admin-token", "notes"]) chmodSync(join(dataDir, name), 0o755)
      yield* Layer.build(Layer.effectDiscard(DataDirLock.acquire(dataDir)))
      assert.deepStrictEqual(
        ["", "db", "admin-token", "notes", "lock"].map((name) => modeOf(join(dataDir, name))),
        [0o755, 0o700, 0o700, 0o755, 0o600],
      )
    })))
})
