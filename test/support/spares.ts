import { Layer } from "effect"
import { SpareThreads } from "../../src/learning/WorkerThread.ts"
import { Spares } from "../../src/runtime/Spares.ts"
import { SpareProcesses } from "../../src/store/WorkerProcess.ts"

/** Worker processes and threads that the services of all test files in this process reuse. */
export const layerSpares = Layer.mergeAll(
  Layer.succeed(SpareProcesses, new Spares(4)),
  Layer.succeed(SpareThreads, new Spares(2)),
)
