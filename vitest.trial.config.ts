import process from "node:process"
import { defineConfig } from "vitest/config"
import { common, oxc } from "./vitest.config.ts"

/** Full sizes of the trials, unless the environment has others. */
const sizes = {
  KILLS: "50",
  BOUNCE_KILLS: "20",
  POWER_CUT_ROWS: "2000",
  POWER_CUTS: "20",
  STORM_EVENTS: "1000000",
  STORM_CALLS_PER_KILL: "3000",
  OUTAGES: "20",
  DELIVER_MESSAGES: "20000",
  DELIVER_PER_KILL: "300",
  RECIPIENT_MESSAGES: "20000",
  RECIPIENTS_PER_KILL: "1000",
  RECIPIENT_NODES: "1,2",
  SUPPRESS_MESSAGES: "20000",
  HISTORY_ROUNDS: "23",
  HISTORY_CLOCKS: "0,3600000,-3600000",
  HISTORY_DATABASES: "own,replicas,embedded",
  HISTORY_MINUTES: "240",
  DELIVER_TAKEOVERS: "10",
  CLUSTER_SECONDS: "600",
  CLUSTER_AWAY_SECONDS: "30",
  CLUSTER_DELIVERIES: "80",
  FUZZ_RUNS: "100000",
  HOSTILE_PER_AREA: "1000",
  JSON_TEXTS: "2000000",
  SIMULATION_SCHEDULES: "50000",
  WEEKEND_SEEDS: "20",
  PAIR_RUNS: "1000",
  HONESTY_RUNS: "300",
}

/** The heavy trials at full size: `deno task trial`. CI runs the same tests smaller. */
export default defineConfig({
  oxc,
  test: {
    ...common,
    include: [
      "test/process/Kill.test.ts",
      "test/process/Embedded.test.ts",
      "test/process/BounceKill.test.ts",
      "test/process/PowerCut.test.ts",
      "test/process/EventStorm.test.ts",
      "test/process/StoreOutage.test.ts",
      "test/process/DeliverStorm.test.ts",
      "test/process/Recipients.test.ts",
      "test/process/SuppressStorm.test.ts",
      "test/process/history/HistoryStorm.test.ts",
      "test/process/Cluster.test.ts",
      "test/deploy/ChartUpgrade.trial.ts",
      "test/api/Fuzz.test.ts",
      "test/console/Crawl.test.ts",
      "test/hostile/Hostile.test.ts",
      "test/domain/JsonReferences.test.ts",
      "test/simulation/GroupCommitSchedules.test.ts",
      "test/simulation/LearnerSchedules.test.ts",
      "test/journal/retention/Year.trial.ts",
      "test/sendtime/Weekends.test.ts",
      "test/results/PairDifference.test.ts",
      "test/simulation/HonestySettings.trial.ts",
    ],
    env: Object.fromEntries(Object.entries(sizes).map(([name, size]) => [name, process.env[name] ?? size])),
    testTimeout: 4 * 3_600_000,
    // One after another, so that their figures are their own.
    maxWorkers: 1,
  },
})
