import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Before any test imports `effect`.
    setupFiles: ["src/runtime/leakGuard.ts"],
    globalSetup: ["test/support/globalSetup.ts"],
    // For what hangs: a machine that is busy with something else may take ten times what it takes alone.
    testTimeout: 180_000,
    hookTimeout: 300_000,
    // Two processes: on the smallest machines more only take turns, and each holds a database or two.
    maxWorkers: 2,
  },
})
