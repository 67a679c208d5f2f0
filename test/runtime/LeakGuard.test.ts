import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { AsyncLocalStorage } from "node:async_hooks"
import process from "node:process"
import { fileURLToPath } from "node:url"
import { capturesAsyncContext } from "../../src/runtime/leakGuard.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))

const deno = (code: string) =>
  execFileSync(Deno.execPath(), ["eval", "--v8-flags=--expose-gc", code], {
    cwd: root,
    encoding: "utf8",
    stdio: "pipe",
  })

/** Prints the bytes of heap that each suspension of one endless fiber leaves behind. */
const measure = `
  const { Effect } = await import("effect")
  const used = () => { globalThis.gc(); return process.memoryUsage().heapUsed }
  const suspend = (count) => Effect.runPromise(Effect.repeat(Effect.yieldNow, { times: count }))
  let count = 0
  let reached = () => {}
  Effect.runFork(Effect.forever(Effect.andThen(Effect.sync(() => { if (++count % 50000 === 0) reached() }), Effect.sleep(0))))
  const next = () => new Promise((resolve) => { reached = resolve })
  await next()
  const before = used()
  await next()
  console.log((used() - before) / 50000)
  process.exit()`

/** Every file that is run as a program, or as a worker of one. */
const programs = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) =>
  /^(src|test|bench)\//.test(file) &&
  (/(\.worker|\.process)\.ts$/.test(file) ||
    /^src\/(demo\/)?main\.ts$|^bench\/run\.ts$|^bench\/support\/baselines\.ts$/.test(file))
)

const importsOf = (file: string) =>
  [...readFileSync(`${root}${file}`, "utf8").matchAll(/^(?:import|export)\b[^"]*?"([^"]+)"/gm)].map(([, from]) => from!)

describe("The leak guard", () => {
  it("prevents fibers from capturing an async context", () => {
    assert.isFalse(capturesAsyncContext())
  })

  it("keeps the other parts of node:async_hooks", async () => {
    const storage = new AsyncLocalStorage<string>()
    const seen = await storage.run("caller", () => Promise.resolve().then(() => storage.getStore()))
    assert.strictEqual(seen, "caller")
    assert.isFunction(process.getBuiltinModule("node:async_hooks").AsyncLocalStorage)
    assert.strictEqual(process.getBuiltinModule("node:path"), process.getBuiltinModule("node:path"))
  })

  it("keeps the heap constant while a fiber suspends forever", () => {
    assert.isAbove(Number(deno(measure)), 500, "the leak itself: without it, remove the guard")
    assert.isBelow(Number(deno(`await import("./src/runtime/leakGuard.ts"); ${measure}`)), 50)
  })

  it("refuses to start after effect", () => {
    assert.throws(
      () => deno(`await import("effect"); await import("./src/runtime/leakGuard.ts")`),
      /imported before src\/runtime\/leakGuard\.ts/,
    )
  })

  it("is imported first in every program that uses effect", () => {
    assert.include(programs, "src/main.ts")
    assert.include(programs, "src/learning/engine.worker.ts")
    const late = programs.filter((file) => {
      const imports = importsOf(file)
      return imports.some((from) =>
        /^effect|^@effect/.test(from) || from.includes("/src/") || file.startsWith("src/")
      ) &&
        !imports[0]!.endsWith("/runtime/leakGuard.ts")
    })
    assert.deepStrictEqual(late, [])
  })

  it.effect("is active in tests", () => Effect.sync(() => assert.isFalse(capturesAsyncContext())))
})
