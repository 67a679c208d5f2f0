// The process behind `SourceCheck`.
import "../runtime/leakGuard.ts"
import { Result } from "effect"
import * as Json from "../domain/Json.ts"
import { answerAsProcess } from "../store/WorkerProtocol.ts"
import { parseVars, render, type SourceFault } from "./Renderer.ts"
import type { CheckRequest } from "./SourceCheck.ts"

await answerAsProcess(({ fields, formats, vars }: CheckRequest, note): ReadonlyArray<SourceFault> => {
  const faults: Array<SourceFault> = []
  for (const [variable, source] of Object.entries(vars)) {
    note(variable)
    const parsed = parseVars(Object.fromEntries([[variable, source]]), formats)
    if (Result.isFailure(parsed)) faults.push(...parsed.failure.faults)
  }
  if (faults.length > 0) return faults
  const parsed = parseVars(vars, formats)
  if (Result.isFailure(parsed)) return parsed.failure.faults
  const rendered = render(parsed.success, Json.parse(fields) as Record<string, unknown>, {
    strict: false,
    now: Date.now(),
  })
  return Result.isSuccess(rendered)
    ? []
    : rendered.failure.faults.map(({ column, line, message, variable }) => ({ column, line, message, variable }))
})
