import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

// Records the responses in test/api/unusual/requests.jsonl again: deno run -A scripts/recordRequests.ts. To add
// requests, first add lines without `answers` to that file. Review the change of every other line.

const { status } = spawnSync(
  Deno.execPath(),
  [
    ..."run -A --no-prompt --unstable-no-legacy-abort npm:vitest@5.1.1 run --project quick".split(" "),
    "test/api/UnusualRequests.test.ts",
  ],
  {
    cwd: fileURLToPath(new URL("../", import.meta.url)),
    env: { ...process.env, RECORD_REQUESTS: "1" },
    stdio: "inherit",
  },
)
Deno.exit(status ?? 1)
