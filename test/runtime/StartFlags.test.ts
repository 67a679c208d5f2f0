import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { startFlags } from "../support/service.ts"

describe("The memory settings of V8", () => {
  it("equal the flags of `deno task start` in the image and for the other tasks that serve", () => {
    const flag = startFlags.find((flag) => flag.startsWith("--v8-flags="))!
    const { tasks } = JSON.parse(readFileSync("deno.json", "utf8"))
    for (const task of ["parlance", "demo"]) assert.include(tasks[task].command, ` ${flag} src/`)
    assert.include(readFileSync("deploy/image/parlance", "utf8"), ` ${flag} `)
  })
})
