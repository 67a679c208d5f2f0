// Replaces `check.process.ts`: reports its pid or its permissions, hangs or ends, as the first source says.
import "../../src/runtime/leakGuard.ts"
import type { CheckRequest } from "../../src/checking/Checks.ts"
import { answerAsProcess } from "../../src/store/WorkerProtocol.ts"

const permitted = (["read", "write", "net", "env", "run", "ffi", "sys"] as const)
  .filter((name) => Deno.permissions.querySync({ name }).state === "granted")

await answerAsProcess((request: CheckRequest, note) => {
  const text = JSON.stringify(request)
  if (request.kind === "sources") {
    note({ variant: request.variants.length - 1, variable: Object.keys(request.variants[0]!.vars)[0] ?? "" })
  }
  if (request.kind === "file") note({ file: "file", line: 7, column: 3, path: "templates[1]" })
  if (text.includes("hang")) { for (;;); }
  if (text.includes("exit")) Deno.exit(1)
  const message = text.includes("permissions") ? permitted.join() : `${Deno.pid}`
  return [{ faults: [{ variable: "v", line: 1, column: 1, message }], warnings: [] }]
})
