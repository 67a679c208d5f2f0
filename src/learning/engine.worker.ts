// Fits need milliseconds of arithmetic, so they run outside the event loop that serves requests.
import "../runtime/leakGuard.ts"
import { Engine } from "./Engine.ts"
import type { EngineRequest } from "./EngineWorker.ts"
import { answerAsWorker } from "./WorkerThread.ts"

const engine = new Engine()

answerAsWorker((request: EngineRequest): unknown => {
  switch (request.type) {
    case "open":
      return engine.open(request.key, request.request, request.now)
    case "apply":
      return engine.apply(request.key, request.counted, request.now)
    case "fit":
      return engine.fit(request.key, request.request)
    case "close":
      return engine.close(request.key)
  }
})
