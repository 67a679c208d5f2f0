import { Result } from "effect"
import * as Json from "../json/Json.ts"
import type { SourceFault } from "../text/TextFaults.ts"
import { Budget } from "../rendering/Budget.ts"
import * as Renderer from "../rendering/Renderer.ts"
import type { Rendered, RenderRequest, Sources } from "../checking/Checks.ts"

type Fields = Readonly<Record<string, unknown>>

/** Only steps decide whether Liquid is refused. The deadline of the process bounds the time. */
const stepsOnly = () => new Budget(1, () => 0)

/** Called before each variable, so that the service knows at which variable the process was stopped. */
type NoteVariable = (variable: string) => void

/**
 * Returns the faults of a variant's Liquid, at most one for each variable: of parsing, otherwise of rendering without
 * fields.
 */
export const sourceFaults = (
  { formats, vars }: Sources,
  note: NoteVariable = () => {},
): ReadonlyArray<SourceFault> => {
  const faults: Array<SourceFault> = []
  for (const [variable, source] of Object.entries(vars)) {
    note(variable)
    const parsed = Renderer.parseVars(Object.fromEntries([[variable, source]]), formats)
    if (Result.isFailure(parsed)) faults.push(...parsed.failure.faults)
  }
  if (faults.length > 0) return faults
  const parsed = Renderer.parseVars(vars, formats)
  if (Result.isFailure(parsed)) return parsed.failure.faults
  const rendered = Renderer.render(parsed.success, {}, { strict: false, now: Date.now(), budget: stepsOnly() })
  return Result.isSuccess(rendered) ? [] : rendered.failure.faults.map(plain)
}

const plain = ({ column, line, message, variable }: SourceFault): SourceFault => ({
  column,
  line,
  message,
  variable,
})

const cutTo = (vars: Readonly<Record<string, string>>, maxText: number): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(vars).map(([name, text]) => [name, text.slice(0, maxText)]))

/** Renders each variant separately with sample fields. */
export const renderEach = (request: RenderRequest): ReadonlyArray<Rendered> => {
  const { maxText, now, strict, timeZone, variants } = request
  const fields = Json.parse(request.fields) as Fields
  return variants.map(({ formats, vars }): Rendered => {
    const parsed = Renderer.parseVars(vars, formats)
    if (Result.isFailure(parsed)) return { stage: "source", faults: parsed.failure.faults }
    const rendered = Renderer.render(parsed.success, fields, { strict, now, timeZone, budget: stepsOnly() })
    if (Result.isFailure(rendered)) {
      // A variant that exceeds the limits in a rendering could not be saved either.
      const limits = rendered.failure.faults.filter(({ kind }) => kind === "limit")
      return limits.length > 0
        ? { stage: "source", faults: limits.map(plain) }
        : { stage: "render", faults: rendered.failure.faults.map(plain) }
    }
    return { vars: maxText === undefined ? rendered.success : cutTo(rendered.success, maxText) }
  })
}
