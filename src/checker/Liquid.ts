import { Result } from "effect"
import * as Json from "../json/Json.ts"
import { stepsOnly } from "../rendering/Budget.ts"
import { checkSources, plainFault } from "../rendering/CheckSources.ts"
import { previewWarnings } from "../rendering/PreviewWarnings.ts"
import * as Renderer from "../rendering/Renderer.ts"
import { noSnippets } from "../domain/Snippet.ts"
import type { SourceFault } from "../text/TextFaults.ts"
import type { Rendered, RenderRequest } from "../checking/Checks.ts"

type Fields = Readonly<Record<string, unknown>>

const cutTo = (vars: Readonly<Record<string, string>>, maxText: number): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(vars).map(([name, text]) => [name, text.slice(0, maxText)]))

/** Returns the first warning of each place. */
const firstOfPlaces = (warnings: ReadonlyArray<SourceFault>): ReadonlyArray<SourceFault> => {
  const places = new Map<string, SourceFault>()
  for (const warning of warnings) {
    const place = `${warning.line} ${warning.column} ${warning.variable}`
    if (!places.has(place)) places.set(place, warning)
  }
  return [...places.values()]
}

/** Renders each variant separately with sample fields. */
export const renderEach = (request: RenderRequest): ReadonlyArray<Rendered> => {
  const { check, maxText, now, strict, timeZone, variants } = request
  const fields = Json.parse(request.fields) as Fields
  return variants.map((sources): Rendered => {
    const { formats, snippets = noSnippets, vars } = sources
    const { faults, warnings } = check === undefined ? { faults: [], warnings: [] } : checkSources(sources)
    if (check === "draft" && faults.length > 0) return { stage: "source", faults }
    const parsed = Renderer.parseVars(vars, formats)
    if (Result.isFailure(parsed)) return { stage: "source", faults: parsed.failure.faults }
    const unusable: Array<SourceFault> = []
    const rendered = Renderer.render(parsed.success, fields, {
      strict,
      now,
      timeZone,
      snippets,
      budget: stepsOnly(),
      warn: (warning) => unusable.push(warning),
    })
    if (Result.isFailure(rendered)) {
      // A variant that exceeds the limits in a rendering could not be saved either.
      const limits = rendered.failure.faults.filter(({ kind }) => kind === "limit")
      return limits.length > 0
        ? { stage: "source", faults: limits.map(plainFault) }
        : { stage: "render", faults: rendered.failure.faults.map(plainFault) }
    }
    const shown = maxText === undefined ? rendered.success : cutTo(rendered.success, maxText)
    if (check === undefined) return { vars: shown, warnings: unusable }
    const observed = Renderer.observe(parsed.success, fields, { now, timeZone, snippets, budget: stepsOnly() })
    const found = [...faults, ...warnings, ...unusable, ...previewWarnings(observed, formats)]
    return { vars: shown, warnings: firstOfPlaces(found) }
  })
}
