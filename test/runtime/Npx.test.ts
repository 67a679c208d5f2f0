import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync, readlinkSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { isNpx, linkDeno, parentIn } from "../../src/runtime/Npx.ts"
import { temporaryFolder } from "../support/stores.ts"

describe("processes between npx and the service", () => {
  it("have a parent after their name and state", () => {
    assert.strictEqual(parentIn("26825 (deno) S 26808 26789 26789 0 -1 4194304"), 26808)
    assert.strictEqual(parentIn("7 (npm exec (a) 1 b) S 12 7 7 0 -1"), 12)
    assert.strictEqual(parentIn("7 (sh) S 0 7 7 0 -1"), 0)
    assert.isUndefined(parentIn(""))
  })

  it("end at a command line of npx", () => {
    const npx = [
      "npm exec deno@2.9.6 task start\0\0\0",
      "npm x deno task start",
      "node\0/usr/local/bin/npx\0-y\0deno@2.9.6\0",
      "/usr/bin/node\0/usr/lib/node_modules/npm/bin/npx-cli.js\0deno\0",
    ]
    for (const line of npx) assert.isTrue(isNpx(line), line)
    const others = ["npm run start", "sh\0-c\0npx deno", "node\0bin.cjs\0task\0start\0", "npm executor", ""]
    for (const line of others) assert.isFalse(isNpx(line), line)
  })
})

describe("the link to the Deno of npx", () => {
  it.effect("is made under the name that npx looks up, and made again if its cache was cleared", () =>
    Effect.gen(function* () {
      const bin = yield* temporaryFolder
      const cache = join(yield* temporaryFolder, "_npx")
      const link = join(bin, "deno@2.9.6")
      symlinkSync(join(cache, "cleared"), link)
      linkDeno(bin, join(cache, "deno"), "2.9.6")
      assert.strictEqual(readlinkSync(link), join(cache, "deno"))
    }))

  it.effect("is not made for a Deno that is installed elsewhere, or in a missing folder", () =>
    Effect.gen(function* () {
      const bin = yield* temporaryFolder
      linkDeno(bin, "/usr/local/bin/deno", "2.9.6")
      linkDeno(join(bin, "missing"), "/home/a/.npm/_npx/1/node_modules/deno/deno", "2.9.6")
      assert.deepStrictEqual(readdirSync(bin), [])
    }))
})
