// Stands in for `check.process.ts`: reports its pid or its permissions, hangs or ends, as the first source says.
import "../../src/runtime/leakGuard.ts"
import type { CheckRequest } from "../../src/rendering/SourceCheck.ts"
import { answerAsProcess } from "../../src/store/WorkerProtocol.ts"

const permitted = (["read", "write", "net", "env", "run", "ffi", "sys"] as const)
  .filter((name) => Deno.permissions.querySync({ name }).state === "granted")

await answerAsProcess(({ vars }: CheckRequest, note) => {
  const [[variable, source] = ["", ""]] = Object.entries(vars)
  note(variable)
  if (source.includes("hang")) { for (;;); }
  if (source.includes("exit")) Deno.exit(1)
  const message = source.includes("permissions") ? permitted.join() : `${Deno.pid}`
  return [{ variable, line: 1, column: 1, message }]
})
