import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { describe } from "vitest"
import { python } from "./python.ts"
import { org, serviceForClients } from "./serviceForClients.ts"

const folder = fileURLToPath(new URL("../../clients/python", import.meta.url))
describe.runIf(python !== undefined)("The Python client", () => {
  it.live("passes its own tests against the service", () =>
    Effect.scoped(Effect.gen(function* () {
      const { apiKey, service } = yield* serviceForClients
      const { code, output } = yield* Effect.promise(() =>
        new Promise<{ code: number | null; output: string }>((resolve) => {
          const child = spawn(python!, ["-B", "-m", "unittest", "discover", "-s", "tests", "-v"], {
            cwd: folder,
            env: { ...process.env, PARLANCE_URL: service.url, PARLANCE_ORG: org, PARLANCE_KEY: apiKey },
          })
          let output = ""
          child.stdout.on("data", (chunk) => output += chunk)
          child.stderr.on("data", (chunk) => output += chunk)
          child.on("close", (code) => resolve({ code, output }))
        })
      )
      assert.strictEqual(code, 0, output)
      assert.match(output, /Ran 18 tests/)
    })))
})
