import { assert, describe, it } from "@effect/vitest"
import { isNpx, parentIn } from "../../src/runtime/Npx.ts"

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
