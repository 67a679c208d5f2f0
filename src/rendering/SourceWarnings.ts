import type { RenderedFormat, RenderedFormats, Vars } from "../domain/Template.ts"
import type { SourceFault } from "../text/TextFaults.ts"
import { foreignNotations, probablyForeign } from "./dialects/Dialects.ts"
import { linkFields } from "./dialects/LinkFields.ts"
import { groupings } from "./Groupings.ts"
import { htmlAsText } from "./HtmlAsText.ts"
import { quotationDoubts } from "./QuotationDoubts.ts"
import { noSnippets, type SnippetSources } from "../domain/Snippet.ts"
import { snippetWarnings } from "./SnippetWarnings.ts"
import type { SourceFinding } from "./SourceFinding.ts"
import { missingPlurals } from "./MissingPlurals.ts"
import { placeOf } from "./Source.ts"

/** Checks one source as its author wrote it, in linear time. The message names the part and says what to write. */
type Check = (
  source: string,
  format: RenderedFormat,
  snippets: SnippetSources,
  locale: string | undefined,
) => ReadonlyArray<SourceFinding>

/** The checks of every source that is saved, imported or previewed. */
const checks: ReadonlyArray<Check> = [
  linkFields,
  probablyForeign,
  groupings,
  htmlAsText,
  quotationDoubts,
  snippetWarnings,
  missingPlurals,
]

/** Maximum number of warnings, or of notations of other platforms, in one variable. */
const maxWarnings = 20

/** Returns findings as warnings or faults of a variable, in the order of their places. */
export const atPlaces = (
  variable: string,
  source: string,
  findings: ReadonlyArray<SourceFinding>,
): Array<SourceFault> =>
  [...findings].sort((a, b) => a.begin - b.begin).slice(0, maxWarnings)
    .map(({ begin, message }) => ({ variable, ...placeOf(source, begin), message }))

/** Returns warnings about the sources of a variant: at most 20 for each variable. They do not prevent saving. */
export const sourceWarnings = (
  vars: Vars,
  formats: RenderedFormats,
  snippets: SnippetSources = noSnippets,
  locale?: string,
): ReadonlyArray<SourceFault> =>
  Object.entries(vars).flatMap(([variable, source]) => {
    const format = Object.hasOwn(formats, variable) ? formats[variable]! : "text"
    return atPlaces(variable, source, checks.flatMap((check) => check(source, format, snippets, locale)))
  })

/** Returns the parts of a source that are written for another platform, at most 20. They prevent saving. */
export const foreignFaults = (variable: string, source: string): ReadonlyArray<SourceFault> =>
  atPlaces(variable, source, foreignNotations(source))
