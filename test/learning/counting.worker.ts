// A worker for tests: waits for so many milliseconds, then answers how many requests it has had.
import "../../src/runtime/leakGuard.ts"
import { answerAsWorker } from "../../src/learning/WorkerThread.ts"

let count = 0
answerAsWorker((wait: number) => {
  if (wait > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, wait)
  return ++count
})
