import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** Tests of whole processes, browsers and containers, and long storms and simulations: `deno task test:system`. */
const system = [
  "test/accounts/AccountCommand.test.ts",
  "test/browser/**/*.test.ts",
  "test/cli/**/*.test.ts",
  "test/console/Crawl.test.ts",
  "test/clients/GeneratedTypes.test.ts",
  "test/container/**/*.test.ts",
  "test/delivery/DispatcherNodes.test.ts",
  "test/demo/Demo.test.ts",
  "test/hostile/**/*.test.ts",
  "test/api/Fuzz.test.ts",
  "test/process/**/*.test.ts",
  "test/readme/**/*.test.ts",
  "test/scripts/Package.test.ts",
  "test/simulation/Honesty.test.ts",
  "test/simulation/Lane.test.ts",
  "test/simulation/Run.test.ts",
  "test/store/ConnectFailure.test.ts",
  "test/store/Encryption.test.ts",
  "test/store/PrivateFiles.test.ts",
  "test/telemetry/Metrics.test.ts",
  "test/telemetry/Nodes.test.ts",
  "test/telemetry/Telemetry.test.ts",
]

/** Files that take longer than 50 seconds, longest first. A file that is missing here starts later, by its size. */
const longest = [
  "test/container/Image.test.ts",
  "test/hostile/Hostile.test.ts",
  "test/process/Soak.test.ts",
  "test/process/Cluster.test.ts",
  "test/process/DeliverStorm.test.ts",
  "test/console/Crawl.test.ts",
  "test/readme/Documents.test.ts",
  "test/browser/Templates.test.ts",
  "test/browser/Drafts.test.ts",
  "test/process/history/HistoryStorm.test.ts",
  "test/browser/Results.test.ts",
  "test/browser/Operations.test.ts",
  "test/browser/Console.test.ts",
  "test/simulation/Run.test.ts",
  "test/process/Lifecycle.test.ts",
  "test/process/Recipients.test.ts",
  "test/process/Embedded.test.ts",
]

/** Starts the longest files first, so that the two processes end at about the same time. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const placeOf = ({ moduleId }: TestSpecification) => {
      const place = longest.findIndex((file) => moduleId.endsWith(file))
      return place < 0 ? longest.length : place
    }
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b))
  }
}

/** Lines that begin with `Skipped: `, which say why a part of the tests does not run on this machine. */
const skipped = new Set<string>()

/** How JSX is compiled, as in `deno.json`. */
export const oxc = { jsx: { runtime: "automatic" as const, importSource: "preact" } }

/** Settings of all tests. */
export const common = {
  // Before any test imports `effect`.
  setupFiles: ["src/runtime/leakGuard.ts"],
  globalSetup: ["test/support/globalSetup.ts"],
  // These stop a test that hangs. A busy machine may take ten times as long as an idle one.
  testTimeout: 180_000,
  hookTimeout: 300_000,
  // A worker that starts service after service allocates much that dies young. A large young generation saves a sixth of its
  // processor time.
  execArgv: ["--min-semi-space-size=32", "--max-semi-space-size=32"],
}

/** A file to which the results are also written as JSON. */
const report = process.env["TEST_REPORT"]

export default defineConfig({
  test: {
    projects: [
      // Files share a process and what it has imported: importing the service takes longer than most of its tests.
      // Three processes: tests often wait, so that two of them leave the smallest machines idle.
      {
        oxc,
        test: {
          ...common,
          name: "quick",
          include: ["test/**/*.test.ts"],
          exclude: system,
          isolate: false,
          maxWorkers: 3,
        },
      },
      // Two processes: these tests start further ones. They run after the quick ones.
      {
        oxc,
        test: {
          ...common,
          name: "system",
          include: system,
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
    sequence: { sequencer: LongestFirst },
    onConsoleLog: (log) => {
      if (!log.startsWith("Skipped: ")) return true
      skipped.add(log.trim())
      return false
    },
    reporters: [
      "default",
      {
        onTestRunEnd: () => {
          for (const line of skipped) console.log(line)
        },
      },
      ...(report === undefined ? [] : [["json", { outputFile: report }] as ["json", { outputFile: string }]]),
    ],
  },
})
