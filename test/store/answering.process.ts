// A worker process for tests: uses the processor or waits for so many milliseconds, then answers with its number.
import "../../src/runtime/leakGuard.ts"
import process from "node:process"
import { answerAsProcess } from "../../src/store/WorkerProtocol.ts"

const processorMillis = () => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1000
}

await answerAsProcess(({ use = 0, wait = 0 }: { readonly use?: number; readonly wait?: number }) => {
  const until = processorMillis() + use
  while (processorMillis() < until) { /* uses the processor */ }
  if (wait > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, wait)
  return Deno.pid
})
