import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/globalSetup.ts"],
    testTimeout: 60_000,
    hookTimeout: 180_000,
    // Two processes: on the smallest machines more only take turns, and each holds a database or two.
    maxWorkers: 2,
  },
})
