import { Result } from "effect"
import type { CheckedSources, Sources } from "../checking/Checks.ts"
import type { SourceFault } from "../text/TextFaults.ts"
import { stepsOnly } from "./Budget.ts"
import * as Renderer from "./Renderer.ts"
import { savingFaults } from "./SavingFaults.ts"
import { noSnippets } from "../domain/Snippet.ts"
import { foreignFaults, sourceWarnings } from "./SourceWarnings.ts"

/** Called before each variable, so that the service knows at which variable the process was stopped. */
type NoteVariable = (variable: string) => void

/** Returns the members of a fault of a source, without the members of a rendering. */
export const plainFault = ({ column, line, message, variable }: SourceFault): SourceFault => ({
  column,
  line,
  message,
  variable,
})

/**
 * Returns the notations of other platforms, and the faults of sources that are not completely understood or cannot be
 * parsed. Without any, the faults of rendering without fields.
 */
const liquidFaults = (
  { formats, snippets = noSnippets, vars }: Sources,
  note: NoteVariable,
): ReadonlyArray<SourceFault> => {
  const faults: Array<SourceFault> = []
  for (const [variable, source] of Object.entries(vars)) {
    note(variable)
    const foreign = foreignFaults(variable, source)
    faults.push(...foreign)
    // A notation of another platform explains the fault of the parser.
    if (foreign.length > 0) continue
    const one = Object.fromEntries([[variable, source]])
    const saving = savingFaults(one, formats, snippets)
    const parsed = saving.length > 0 ? Result.fail({ faults: saving }) : Renderer.parseVars(one, formats)
    if (Result.isFailure(parsed)) faults.push(...parsed.failure.faults)
  }
  if (faults.length > 0) return faults
  const parsed = Renderer.parseVars(vars, formats)
  if (Result.isFailure(parsed)) return parsed.failure.faults
  const rendered = Renderer.render(parsed.success, {}, {
    strict: false,
    now: Date.now(),
    snippets,
    budget: stepsOnly(),
  })
  return Result.isSuccess(rendered) ? [] : rendered.failure.faults.map(plainFault)
}

/** Checks the sources of a variant before they are saved. */
export const checkSources = (sources: Sources, note: NoteVariable = () => {}): CheckedSources => ({
  faults: liquidFaults(sources, note),
  warnings: sourceWarnings(sources.vars, sources.formats, sources.snippets),
})
