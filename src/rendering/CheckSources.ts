import { Result } from "effect"
import type { CheckedSources, Sources } from "../checking/Checks.ts"
import { type RenderedFormats, renderedFormats, type Vars } from "../domain/Template.ts"
import type { SourceFault } from "../text/TextFaults.ts"
import { stepsOnly } from "./Budget.ts"
import * as Renderer from "./Renderer.ts"
import { savingFaults } from "./SavingFaults.ts"
import { noSnippets, type SnippetSources } from "../domain/Snippet.ts"
import { placeOf } from "./Source.ts"
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
  vars: Vars,
  formats: RenderedFormats,
  snippets: SnippetSources,
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
  return faults.length > 0 ? faults : renderingFaults(vars, formats, snippets)
}

/** Returns the faults of rendering a variant without fields. */
export const renderingFaults = (
  vars: Vars,
  formats: RenderedFormats,
  snippets: SnippetSources,
): ReadonlyArray<SourceFault> => {
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

/** Returns a warning for each variable that is MJML by its text and not by its format. */
const mjmlAsText = ({ formats, vars }: Sources): ReadonlyArray<SourceFault> =>
  Object.entries(vars).flatMap(([variable, source]) => {
    const begin = Object.hasOwn(formats, variable) && formats[variable] === "mjml" ? -1 : source.search(/<mjml[\s>]/i)
    const message = "This is MJML, which mail programs do not show. Choose the format mjml"
    return begin === -1 ? [] : [{ variable, ...placeOf(source, begin), message }]
  })

/** Checks the Liquid of a variant before it is saved. Does not compile MJML. */
export const checkSources = (sources: Sources, note: NoteVariable = () => {}): CheckedSources => {
  const { snippets = noSnippets, vars } = sources
  const formats = renderedFormats(sources.formats)
  return {
    faults: liquidFaults(vars, formats, snippets, note),
    warnings: [...mjmlAsText(sources), ...sourceWarnings(vars, formats, snippets)],
    compiled: [],
  }
}
