// The process that `SourceCheck` asks, and ends when it takes too long. It has no permissions, and goes when its input
// does, so that it never outlives the service.
import { Result } from "effect"
import type { CheckAnswer, CheckRequest } from "./CheckProtocol.ts"
import { parseVars, render, type SourceFault } from "./Renderer.ts"

// Written at once: what is only buffered would be lost in a parse that does not end.
const answer = (message: CheckAnswer) => console.log(JSON.stringify(message))

const check = ({ fields, formats, vars }: CheckRequest): ReadonlyArray<SourceFault> => {
  const faults: Array<SourceFault> = []
  for (const [variable, source] of Object.entries(vars)) {
    answer({ type: "begun", variable })
    const parsed = parseVars(Object.fromEntries([[variable, source]]), formats)
    if (Result.isFailure(parsed)) faults.push(...parsed.failure.faults)
  }
  if (faults.length > 0) return faults
  const parsed = parseVars(vars, formats)
  if (Result.isFailure(parsed)) return parsed.failure.faults
  const rendered = render(parsed.success, fields, { strict: false, now: Date.now() })
  return Result.isSuccess(rendered)
    ? []
    : rendered.failure.faults.map(({ column, line, message, variable }) => ({ column, line, message, variable }))
}

answer({ type: "ready" })
let rest = ""
for await (const chunk of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + chunk).split("\n")
  rest = lines.pop()!
  for (const line of lines) answer({ type: "faults", faults: check(JSON.parse(line) as CheckRequest) })
}
