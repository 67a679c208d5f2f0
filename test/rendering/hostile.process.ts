// Renders the hostile corpus in a process of its own, one line of JSON each, so that an endless render can be killed.
import "../../src/runtime/leakGuard.ts"
import { Result } from "effect"
import { parseVars, render } from "../../src/rendering/Renderer.ts"
import { hostile } from "./hostile.ts"
import { now } from "./variants.ts"

/** How one hostile template ended. */
export interface Ending {
  readonly name: string
  readonly end: "refused" | "limited" | "complained" | "rendered"
  readonly detail: string
  readonly length: number
  readonly milliseconds: number
}

for (const { fields = {}, format = "text", name, source } of hostile) {
  for (const strict of [false, true]) {
    const started = performance.now()
    const done = (end: Ending["end"], detail: string, length = 0) => {
      const milliseconds = Math.round(performance.now() - started)
      console.log(JSON.stringify({ name, end, detail, length, milliseconds } satisfies Ending))
    }
    const parsed = parseVars({ v: source }, { v: format })
    if (Result.isFailure(parsed)) {
      done("refused", parsed.failure.message)
      continue
    }
    const rendered = render(parsed.success, fields, { strict, now })
    if (Result.isSuccess(rendered)) done("rendered", "", rendered.success["v"]!.length)
    else {done(
        rendered.failure.faults.some(({ kind }) => kind === "limit") ? "limited" : "complained",
        rendered.failure.message,
      )}
  }
}
