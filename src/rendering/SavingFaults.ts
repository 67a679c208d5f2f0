import type { RenderedFormat, RenderedFormats, Vars } from "../domain/Template.ts"
import type { SourceFault } from "../text/TextFaults.ts"
import { filters } from "./Filters.ts"
import type { SourceParts } from "./StrictReader.ts"
import { readStrictly } from "./StrictReading.ts"
import { Refused } from "./Refused.ts"
import { placesOf } from "./Places.ts"
import { noSnippets, type SnippetSources } from "../domain/Snippet.ts"
import { type LiquidFault, placeOf } from "./Source.ts"

// Faults that prevent saving, and never rendering: sources that were saved by earlier releases continue to render.

/** A source that is about to be saved. */
interface Saved {
  readonly source: string
  readonly format: RenderedFormat
  readonly snippets: SnippetSources
  /** The locale of the source. Undefined if it is unknown. */
  readonly locale: string | undefined
  /** Reads the tags and outputs once, for all checks. Throws `Refused` if a part is not understood. */
  readonly reading: () => SourceParts
}

/** Throws `Refused` if the source cannot be saved. */
type SavingCheck = (saved: Saved) => void

/** Refuses tags and outputs that are not completely understood. */
const wholeSyntax: SavingCheck = ({ reading }) => void reading()

/** Refuses arguments that a filter does not use, and literal arguments that can never work. */
const filterArguments: SavingCheck = ({ locale, reading }) => {
  for (const { args, begin, input, name, named } of reading().filters) {
    const entry = filters.get(name)
    if (entry === undefined) continue
    const takes = entry.takes ?? entry.needs
    if (args.length > takes) {
      const some = takes === 0 ? "no arguments" : takes === 1 ? "one argument" : `at most ${takes} arguments`
      throw new Refused(`the filter ${name} takes ${some}, not ${args.length}`, args[takes]!.begin)
    }
    for (const [key, { begin }] of named) {
      if (entry.named?.includes(key)) continue
      throw new Refused(`the filter ${name} has no argument named ${key}: write only its value, without ${key}:`, begin)
    }
    const missing = entry.requires?.find((key) => !named.has(key))
    if (missing !== undefined) throw new Refused(`the filter ${name} needs the argument ${missing}:`, begin)
    const fault = entry.faultOf?.(args.map(({ literal }) => literal), input?.literal, {
      named: new Set(named.keys()),
      locale,
    })
    if (fault !== undefined) throw new Refused(`${name}: ${fault}`, begin)
  }
}

/** Refuses snippets that do not exist, and HTML where a text is expected. */
const knownSnippets: SavingCheck = ({ format, reading, snippets, source }) => {
  for (const { begin, id, tag } of reading().renders) {
    const snippet = snippets.get(id)
    if (snippet === undefined) {
      throw new Refused(`there is no snippet "${id}": create it first, or correct the id`, begin)
    }
    if (snippet.format === "text") continue
    if (format === "text") {
      throw new Refused(
        `the snippet "${id}" is HTML, and this is a text: set the format of the variable to html, or render a snippet in the ` +
          "format text",
        begin,
      )
    }
    if (placesOf(source)(tag) !== "markup") {
      throw new Refused(
        `the snippet "${id}" is HTML, and this is a script or a value in a link: render a snippet in the format text`,
        begin,
      )
    }
  }
}

/** All checks. The first that throws decides the fault. */
const checks: ReadonlyArray<SavingCheck> = [wholeSyntax, filterArguments, knownSnippets]

/** Returns the first fault of a source. */
const faultOf = (saved: Omit<Saved, "reading">): LiquidFault | undefined => {
  const { source } = saved
  try {
    let read: SourceParts | undefined
    for (const check of checks) check({ ...saved, reading: () => read ??= readStrictly(source) })
    return undefined
  } catch (error) {
    if (error instanceof Refused) return { message: error.message, ...placeOf(source, error.begin) }
    throw error
  }
}

/**
 * Returns the faults that prevent the saving of variables, at most one for each. Faults of the parser, such as unknown
 * filters and tags, are not among them.
 */
export const savingFaults = (
  vars: Vars,
  formats: RenderedFormats,
  snippets: SnippetSources = noSnippets,
  locale?: string,
): ReadonlyArray<SourceFault> =>
  Object.entries(vars).flatMap(([variable, source]) => {
    const format = Object.hasOwn(formats, variable) ? formats[variable]! : "text"
    const fault = faultOf({ source, format, snippets, locale })
    return fault === undefined ? [] : [{ variable, ...fault }]
  })
