import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as PidFile from "../../../src/store/bundled/PidFile.ts"
import { temporaryFolder } from "../../support/stores.ts"

describe("postmaster.pid", () => {
  it("begins with the number of the server's process", () => {
    assert.strictEqual(PidFile.pidIn("4711\n/data\n1763852100\n5432\n/data\n\n  5432001 3\nready   \n"), 4711)
    assert.strictEqual(PidFile.pidIn("-4711\n/data\n"), 4711)
    for (const text of ["", "\n", "0\n", "1\n", "none\n"]) assert.isUndefined(PidFile.pidIn(text))
  })

  it("identifies a server on this folder only", () => {
    assert.isTrue(PidFile.isServerOn("/d/postgres/data", "/n/bin/postgres -D /d/postgres/data -c fsync=on"))
    assert.isFalse(PidFile.isServerOn("/d/postgres/data", "/n/bin/postgres -D /other/data"))
    assert.isFalse(PidFile.isServerOn("/d/postgres/data", "deno run src/main.ts serve"))
  })

  it.effect("distinguishes a server, another program with its number, and no process", () =>
    Effect.scoped(Effect.gen(function* () {
      const folder = yield* temporaryFolder
      assert.isUndefined(PidFile.read(folder))
      for (const [pid, found] of [[process.pid, "other"], [4_194_303, "none"]] as const) {
        writeFileSync(join(folder, "postmaster.pid"), `${pid}\n${folder}\n`)
        assert.deepStrictEqual(PidFile.read(folder), { pid, process: found })
      }
    })))
})
