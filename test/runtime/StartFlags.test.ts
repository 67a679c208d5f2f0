import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { startEnvironment, startFlags } from "../support/service.ts"

describe("The memory settings of the service", () => {
  it("of the image and of other tasks equal the settings of `deno task start`", () => {
    const flag = startFlags.find((flag) => flag.startsWith("--v8-flags="))!
    const { tasks } = JSON.parse(readFileSync("deno.json", "utf8"))
    for (const task of ["parlance", "demo"]) assert.include(tasks[task].command, ` ${flag} src/`)
    const image = readFileSync("deploy/image/parlance", "utf8")
    assert.include(image, ` ${flag} `)
    for (const [name, value] of Object.entries(startEnvironment)) {
      for (const task of ["parlance", "demo"]) assert.include(tasks[task].command, ` ${name}=${value} deno run `)
      assert.match(image, new RegExp(`^ *export ${name}=${value}$`, "m"))
    }
  })

  it("install packages without a line for each package", () => {
    const { tasks } = JSON.parse(readFileSync("deno.json", "utf8"))
    for (const task of ["start", "parlance", "demo"]) {
      assert.match(
        tasks[task].command,
        /^\(cd node_modules 2>\/dev\/null\) \|\| echo '[^']+' >&2 && deno install --quiet --prod /,
        task,
      )
    }
  })

  it("compile the modules in a process that ends before the service starts", () => {
    const { tasks } = JSON.parse(readFileSync("deno.json", "utf8"))
    assert.match(tasks.start.command, /&& deno cache .*src\/main\.ts && .*deno run .*src\/main\.ts serve$/)
  })
})
