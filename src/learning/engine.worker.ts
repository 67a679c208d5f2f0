/// <reference lib="deno.worker" />
// Fits take milliseconds of arithmetic, reports tenths of a second: off the event loop that answers requests.
import { report } from "../bandit/Report.ts"
import { Engine } from "./Engine.ts"
import type { EngineAnswer, EngineRequest } from "./EngineWorker.ts"

const scope = self as unknown as DedicatedWorkerGlobalScope
const engine = new Engine()

const run = (request: EngineRequest): unknown => {
  switch (request.type) {
    case "open":
      return engine.open(request.key, request.request, request.now)
    case "apply":
      return engine.apply(request.key, request.counted, request.now)
    case "fit":
      return engine.fit(request.key, request.request)
    case "close":
      return engine.close(request.key)
    case "report":
      return report(request.request)
  }
}

scope.onmessage = ({ data: { id, request } }: MessageEvent<{ id: number; request: EngineRequest }>) => {
  let answer: EngineAnswer
  try {
    answer = { id, value: run(request) }
  } catch (cause) {
    answer = { id, reason: cause instanceof Error ? cause.message : String(cause) }
  }
  scope.postMessage(answer)
}
