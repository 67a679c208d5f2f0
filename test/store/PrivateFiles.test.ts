import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chmodSync, readdirSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { tighten } from "../../src/store/PrivateFiles.ts"
import { run, waitUntil } from "../support/service.ts"
import { temporaryFolder } from "../support/stores.ts"

const modeOf = (path: string) => statSync(path).mode & 0o777

describe("the data folder", () => {
  it.live("is created for its owner only, with all files of the service", () =>
    Effect.scoped(Effect.gen(function* () {
      const dataDir = join(yield* temporaryFolder, "made", "here")
      // Without a prepared store, so that every file is made by the service.
      const { child, ended, output } = run(["serve"], { DATA_DIR: dataDir, PORT: "0" })
      yield* Effect.addFinalizer(() =>
        Effect.promise(() => {
          child.kill("SIGKILL")
          return ended
        })
      )
      yield* Effect.promise(() => waitUntil("it serves", () => output().includes("Parlance answers at"), 150))
      // Others may pass through where the server has a user of its own, and read nothing.
      assert.strictEqual(modeOf(dataDir) & 0o066, 0)
      assert.isAbove(readdirSync(join(dataDir, "postgres", "data")).length, 5)
      assert.deepStrictEqual(readdirSync(dataDir).filter((name) => (modeOf(join(dataDir, name)) & 0o077) !== 0), [])
    })))

  it.live("loses access for others on the service's files only", () =>
    Effect.scoped(Effect.gen(function* () {
      const dataDir = yield* temporaryFolder
      for (const name of ["admin-token", "notes"]) writeFileSync(join(dataDir, name), "x")
      chmodSync(dataDir, 0o755)
      for (const name of ["admin-token", "notes"]) chmodSync(join(dataDir, name), 0o755)
      yield* tighten(dataDir)
      assert.deepStrictEqual(["", "admin-token", "notes"].map((name) => modeOf(join(dataDir, name))), [
        0o755,
        0o700,
        0o755,
      ])
    })))
})
