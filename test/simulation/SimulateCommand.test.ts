import * as NodeServices from "../../src/runtime/NodeServices.ts"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { Command } from "effect/cli"
import { TestClock, TestConsole } from "effect/testing"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ManagementClient } from "../../src/cli/Connection.ts"
import { ServiceOfCommand } from "../../src/cli/Remote.ts"
import { root } from "../../src/cli/RootCommand.ts"
import { replayLog, simulateCommand } from "../../src/cli/SimulateCommand.ts"
import { chance } from "../../src/simulation/Chance.ts"
import { layerSettings } from "../support/settings.ts"

const scenario = `
name: two words
days: 4
sends_per_day: 300
base_rate: 0.05
variants: [{id: a}, {id: b, rate: 2}]
`

/** The commands, run in this process, with a management client where needed. */
const runner = (client?: ManagementClient["Service"]) => {
  const replay = Command.make(
    "replay",
    {},
    () =>
      client === undefined ? Effect.void : replayLog("t", Option.none(), 10_000).pipe(
        Effect.provideService(ManagementClient, client),
        Effect.provideService(ServiceOfCommand, Option.none()),
      ),
  )
  const program = Command.runWith(root.pipe(Command.withSubcommands([simulateCommand, replay])), { version: "0" })
  return (...args: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      yield* program(args)
      return (yield* TestConsole.logLines).join("\n")
    }).pipe(Effect.provide(Layer.mergeAll(NodeServices.layer, layerSettings({}))))
}

const withFile = <A, E, R>(text: string, use: (file: string) => Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const folder = mkdtempSync(join(tmpdir(), "parlance-"))
      writeFileSync(join(folder, "s.yaml"), text)
      return folder
    }),
    (folder) => use(join(folder, "s.yaml")),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true })),
  )

describe("parlance simulate", () => {
  it.effect("shows the results of policies in a scenario, without a store", () =>
    withFile(scenario, (file) =>
      Effect.gen(function* () {
        const output = yield* runner()("simulate", "--scenario", file, "--seeds", "2")
        assert.include(output, "two words: 1200 decisions in 4 days, 2 worlds.")
        assert.match(output, /UCB1 +\d/)
        assert.match(output, /adaptive +\d+(\.\d+)? +-?\d+\.\d ± \d+\.\d %/)
        assert.match(output, /best choice each time +100 +100 %/)
      })))

  it.effect("answers in JSON, for other days, with reproducible figures", () =>
    withFile(scenario, (file) =>
      Effect.gen(function* () {
        const json = runner()("simulate", "--scenario", file, "--seeds", "1", "--days", "2", "--json")
        const read = JSON.parse(yield* json)
        assert.deepInclude(read, { scenario: "two words", days: 2, seeds: 1, decisions: 600 })
        assert.closeTo(read.oracle_reward_per_decision, 0.1, 1e-9)
        assert.strictEqual(read.policies[0].policy, "uniform")
        assert.isNull(read.policies[0].half_width_95)
      })))

  it.effect("reports every fault of a scenario with its position", () =>
    withFile(`${scenario}seasons: 4\ndrift: -1\n`, (file) =>
      Effect.gen(function* () {
        const { message } = (yield* Effect.flip(runner()("simulate", "--scenario", file))) as Error
        assert.strictEqual(
          message,
          `${file}:7:1: seasons: is unknown\n${file}:8:1: drift: must be a value between 0 and 1`,
        )
      })))

  it.effect("requires either a template or a scenario, and numbers within their range", () =>
    Effect.gen(function* () {
      const fails = (...args: ReadonlyArray<string>) =>
        Effect.map(Effect.flip(runner()("simulate", ...args)), (error) => (error as Error).message)
      assert.match(yield* fails(), /either a template/)
      assert.match(yield* fails("t", "--scenario", "x.yaml"), /either a template/)
      assert.match(yield* fails("--scenario", "x.yaml", "--seeds", "0"), /--seeds/)
      assert.match(yield* fails("--scenario", "x.yaml", "--days", "0"), /--days/)
      assert.match(yield* fails("--scenario", "does-not-exist.yaml"), /cannot be read/)
      assert.match(yield* fails("t", "--lookback-days", "0"), /--lookback-days/)
      assert.match(yield* fails("t", "--limit", "0"), /--limit/)
    }))

  it.effect("replays the log of a template page by page without forced decisions", () =>
    Effect.gen(function* () {
      const { uniform } = chance(1)
      const start = Date.UTC(2026, 0, 5)
      const decisions = Array.from({ length: 3_000 }, (_, i) => {
        const forced = i % 10 === 0
        const copy = uniform() < 0.5 ? "a" : "b"
        const at = start + i * 200_000
        const click = !forced && uniform() < (copy === "a" ? 0.05 : 0.15)
        return {
          tracking_id: `x${String(i).padStart(5, "0")}`,
          copy_id: copy,
          segment: "",
          mode: forced ? "forced" as const : "bandit" as const,
          propensity: forced ? null : 0.5,
          weights: forced ? null : { a: 0.5, b: 0.5 },
          policy: "t:0",
          decided_at: new Date(at).toISOString(),
          outcomes: click ? { click: new Date(at + 3_600_000).toISOString() } : {},
        }
      })
      // All outcomes have had their time.
      yield* TestClock.setTime(start + decisions.length * 200_000 + 15 * 86_400_000)
      const pages: Array<string | undefined> = []
      const stubWith = (exploration_floor: number) => ({
        listOrganizations: () => Effect.succeed({ organizations: [{ slug: "acme" }] }),
        getOrganization: () => Effect.succeed({ exploration_floor }),
        getTemplate: () => Effect.succeed({ objective: "click", runner_up_floor: 0.1 }),
        listDecisions: ({ query }: { readonly query: { readonly cursor?: string; readonly limit: string } }) => {
          pages.push(query.cursor)
          const from = query.cursor === undefined
            ? 0
            : decisions.findIndex(({ tracking_id }) => tracking_id === query.cursor) + 1
          const page = decisions.slice(from, from + 1_000)
          return Effect.succeed({
            decisions: page,
            next_cursor: from + 1_000 < decisions.length ? page.at(-1)!.tracking_id : null,
          })
        },
      })
      const replay = (floor: number) =>
        runner(stubWith(floor) as unknown as ManagementClient["Service"])("replay", "--org", "acme", "--json")
      const output = yield* replay(0.01)
      assert.deepStrictEqual(pages, [undefined, "x00999", "x01999"])
      const read = JSON.parse(output)
      assert.strictEqual(read.decisions, 2_700)
      assert.closeTo(read.logged.value, 0.1, 0.02)
      interface Answer {
        readonly policies: ReadonlyArray<
          { readonly policy: string; readonly estimates: Record<"ips" | "snips", { readonly value: number }> }
        >
      }
      const policyIn = (answer: Answer, name: string) => answer.policies.find(({ policy }) => policy === name)!
      const of = (name: string) => policyIn(read, name)
      assert.closeTo(of("uniform").estimates.ips.value, read.logged.value, 1e-9)
      assert.isAbove(of("adaptive").estimates.snips.value, 0.12)
      assert.closeTo(of("adaptive").estimates.snips.value, 0.15, 0.03)

      const explores = policyIn(JSON.parse((yield* replay(0.2)).slice(output.length)), "adaptive")
      assert.isBelow(explores.estimates.snips.value, of("adaptive").estimates.snips.value - 0.005)
    }))
})
