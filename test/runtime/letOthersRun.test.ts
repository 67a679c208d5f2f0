import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { performance } from "node:perf_hooks"
import { letOthersRun } from "../../src/runtime/letOthersRun.ts"

const turns = 200
const turnMillis = 2

const listening = Effect.acquireRelease(
  Effect.callback<Server>((resume) => {
    const server = createServer((_, response) => response.end("here"))
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) => Effect.promise(() => new Promise((resolve) => server.close(resolve))),
)

const compute = Effect.gen(function* () {
  for (let turn = 0; turn < turns; turn++) {
    const until = performance.now() + turnMillis
    while (performance.now() < until);
    yield* letOthersRun
  }
})

describe("letOthersRun", () => {
  it.live("lets sockets be read and written after every turn of a long computation", () =>
    Effect.gen(function* () {
      const server = yield* listening
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
      let answers = 0
      let isComputing = true
      const client = (async () => {
        while (isComputing) {
          await (await fetch(url, { headers: { connection: "close" } })).text()
          if (isComputing) answers++
        }
      })()
      yield* compute
      isComputing = false
      yield* Effect.promise(() => client)
      // One after another, of a few turns each. With `Effect.yieldNow` there was one.
      assert.isAtLeast(answers, 12)
    }).pipe(Effect.scoped))
})
