import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Summary } from "../../src/demo/Summary.ts"
import { makeWatch } from "../support/platformServers/Watch.ts"
import { freePort, untilPrinted } from "../support/service.ts"
import { temporaryFolder } from "../support/stores.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))

/** `src/demo/main.ts` as a process of its own, killed at the latest when the scope closes. */
const demo = (args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { DATABASE_URL: _, DATA_DIR: __, PORT: ___, ...env } = process.env
      const child = spawn(
        Deno.execPath(),
        ["run", "-A", "--no-prompt", "--cached-only", "--unstable-no-legacy-abort", "src/demo/main.ts", ...args],
        { cwd: root, env: { ...env, NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" } as Record<string, string> },
      )
      let output = ""
      let errors = ""
      const { changed, until } = makeWatch()
      child.stdout.on("data", (chunk) => {
        output += String(chunk)
        changed()
      })
      child.stderr.on("data", (chunk) => errors += String(chunk))
      const ended = new Promise<number | null>((resolve) => child.on("exit", resolve))
      const printed = (holds: () => boolean) => untilPrinted(until, ended, holds, () => output + errors)
      // Not `child.kill`: after that Deno reports the signal as the end even of a process that handled it.
      return { pid: child.pid!, output: () => output, errors: () => errors, printed, ended }
    }),
    ({ ended, pid }) =>
      Effect.promise(async () => {
        try {
          process.kill(pid, "SIGKILL")
        } catch {
          // It has ended already.
        }
        await ended
      }),
  )

describe("deno task demo", () => {
  it.live(
    "ends with the gain, after the service has counted every event once",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const dataDir = join(yield* temporaryFolder, "demo")
        const port = yield* Effect.promise(freePort)
        const flags = `--once --json --seconds 15 --days 3 --per-day 400 --seed 7 --port ${port}`.split(" ")
        const { ended, errors, output } = yield* demo([...flags, "--data-dir", dataDir])
        assert.strictEqual(yield* Effect.promise(() => ended), 0, errors())
        const { events, results, ...summary } = JSON.parse(output()) as Summary

        assert.isAbove(summary.messages, 900)
        assert.isBelow(summary.messages, 1500)
        assert.strictEqual(results.decisions, summary.messages)
        const { outcomes } = results
        assert.deepStrictEqual(
          {
            delivered: outcomes.delivered,
            open: outcomes.open,
            machine_open: results.automated.open,
            click: outcomes.click,
            conversion: outcomes.conversion,
            bounce: outcomes.bounce,
            unsubscribe: outcomes.unsubscribe,
          },
          events,
        )
        assert.isAbove(events.click, 0)
        assert.isAbove(summary.reported_again, 0)
        assert.strictEqual(results.automated.click, 0)

        const { even, oracle, ours } = summary.expected_clicks
        assert.isBelow(even, oracle)
        assert.isAtMost(ours, oracle)
        assert.closeTo(summary.gain_captured!, (ours - even) / (oracle - even), 1e-9)
        assert.isTrue(Number.isFinite(summary.gain_captured_last_day))
        assert.deepStrictEqual(
          Object.keys(summary.true_rates).sort(),
          results.variants.map(({ copy_id }) => copy_id).sort(),
        )
        assert.match(errors(), /gain captured -?\d+ % so far/)
        // Time was simulated for the service too: its data are three days old, not fifteen seconds.
        assert.isAbove(results.winner.days, 2)
      })),
    120_000,
  )

  it.live("keeps running after the summary until SIGTERM", () =>
    Effect.scoped(Effect.gen(function* () {
      const dataDir = join(yield* temporaryFolder, "demo")
      const flags = "--seconds 1 --days 0.1 --per-day 500 --port 0".split(" ")
      const { ended, errors, output, pid, printed } = yield* demo([...flags, "--data-dir", dataDir])
      yield* Effect.promise(async () => {
        await printed(() => output().includes("Press Ctrl-C to end the demo"))
        assert.match(output(), /Parlance captured -?\d+ % of the possible gain/)
        const [, url, key] = /curl -s (http:\S+)\/api\/generate\/demo -H 'X-Api-Key: (\S+)'/.exec(output())!
        const answer = await fetch(`${url}/api/generate/demo`, {
          method: "POST",
          headers: { "x-api-key": key!, "content-type": "application/json" },
          body: JSON.stringify({ template_id: "cart-reminder", fields: { cart: { items: [] } } }),
        })
        assert.strictEqual(answer.status, 200)
        assert.isString((await answer.json()).copy.vars.subject)
        const [, link] = /^(http:\S+\/console\/demo\?token=\S+)$/m.exec(output())!
        const wrong = await fetch(`${link}x`, { redirect: "manual" })
        assert.strictEqual(wrong.status, 404)
        assert.isNull(wrong.headers.get("set-cookie"))
        const signedIn = await fetch(link!, { redirect: "manual" })
        assert.strictEqual(signedIn.status, 303, await signedIn.text())
        const cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!
        const overview = await fetch(`${url}${signedIn.headers.get("location")}`, { headers: { cookie } })
        assert.strictEqual(overview.status, 200)
        assert.include(await overview.text(), "Fernweh Outdoor")
        process.kill(pid, "SIGTERM")
        assert.strictEqual(await ended, 0, errors())
      })
    })), 120_000)

  it.live("refuses a folder that it did not create, without changing it", () =>
    Effect.scoped(Effect.gen(function* () {
      const dataDir = join(yield* temporaryFolder, "precious")
      mkdirSync(dataDir)
      writeFileSync(join(dataDir, "letters.txt"), "kept")
      const { ended, errors } = yield* demo(["--port", "0", "--data-dir", dataDir])
      assert.strictEqual(yield* Effect.promise(() => ended), 1)
      assert.match(errors(), /files that no demo created/)
      assert.deepStrictEqual(readdirSync(dataDir), ["letters.txt"])
      assert.isTrue(existsSync(join(dataDir, "letters.txt")))
    })), 120_000)
})
