import { Result } from "effect"
import type { CheckedSources, Sources } from "../checking/Checks.ts"
import { type RenderedFormats, renderedFormats, type Vars } from "../domain/Template.ts"
import type { SourceFault } from "../text/TextFaults.ts"
import { fallbackChain, missingTexts, textsFor } from "../domain/Locale.ts"
import { stepsOnly } from "./Budget.ts"
import * as Renderer from "./Renderer.ts"
import { savingFaults } from "./SavingFaults.ts"
import { noSnippets, type SnippetSources } from "../domain/Snippet.ts"
import { placeOf } from "./Source.ts"
import { atPlaces, foreignFaults, sourceWarnings } from "./SourceWarnings.ts"
import { translatedNames } from "./TranslatedNames.ts"

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
const liquidFaults = ({ locale, vars, ...sources }: Sources, note: NoteVariable): ReadonlyArray<SourceFault> => {
  const formats = renderedFormats(sources.formats)
  const { snippets = noSnippets } = sources
  const faults: Array<SourceFault> = []
  for (const [variable, source] of Object.entries(vars)) {
    note(variable)
    const foreign = foreignFaults(variable, source)
    faults.push(...foreign)
    // A notation of another platform explains the fault of the parser.
    if (foreign.length > 0) continue
    const one = Object.fromEntries([[variable, source]])
    const saving = savingFaults(one, formats, snippets, locale)
    const parsed = saving.length > 0 ? Result.fail({ faults: saving }) : Renderer.parseVars(one, formats)
    if (Result.isFailure(parsed)) faults.push(...parsed.failure.faults)
  }
  return faults.length > 0 ? faults : renderingFaults(vars, formats, snippets, locale)
}

/** Returns the faults of rendering a variant without fields. */
export const renderingFaults = (
  vars: Vars,
  formats: RenderedFormats,
  snippets: SnippetSources,
  locale?: string,
): ReadonlyArray<SourceFault> => {
  const parsed = Renderer.parseVars(vars, formats)
  if (Result.isFailure(parsed)) return parsed.failure.faults
  const rendered = Renderer.render(parsed.success, {}, {
    strict: false,
    now: Date.now(),
    snippets,
    budget: stepsOnly(),
    locale,
  })
  return Result.isSuccess(rendered) ? [] : rendered.failure.faults.map(plainFault)
}

/** Returns a warning for each variable or snippet that is MJML by its text and not by its format. */
const mjmlAsText = ({ formats, vars }: Sources): ReadonlyArray<SourceFault> =>
  Object.entries(vars).flatMap(([variable, source]) => {
    const begin = Object.hasOwn(formats, variable) && formats[variable] === "mjml"
      ? -1
      : source.search(/<(?:mjml|mj-[a-z]+)[\s>/]/i)
    const message =
      "This is MJML, which mail programs do not show. Choose the format mjml for the variable. A snippet contains HTML"
    return begin === -1 ? [] : [{ variable, ...placeOf(source, begin), message }]
  })

/**
 * Checks the texts of a variant in one of its other locales: its own texts, and the texts of the default locale that they
 * fall back to.
 */
const checkLocale = (sources: Sources, locale: string, note: NoteVariable): Omit<CheckedSources, "compiled"> => {
  const { locales = {}, snippets = noSnippets, vars } = sources
  const formats = renderedFormats(sources.formats)
  const own = { ...sources, vars: locales[locale]!, locale }
  const faults = liquidFaults(own, note)
  const { vars: whole } = textsFor({ vars, locales }, fallbackChain(locale), "")
  const inLocale = (fault: SourceFault): SourceFault => ({ ...fault, locale })
  const missing = missingTexts({ vars, locales }, locale, sources.locale).map((variable) => ({
    variable,
    line: 1,
    column: 1,
    message: `is not translated to "${locale}": the text in the default locale is sent`,
  }))
  const names = Object.entries(own.vars).flatMap(([variable, text]) =>
    Object.hasOwn(vars, variable) ? atPlaces(variable, text, translatedNames(vars[variable]!, text)) : []
  )
  const warnings = [...mjmlAsText(own), ...sourceWarnings(own.vars, formats, snippets, locale), ...names, ...missing]
  return {
    faults: (faults.length > 0 ? faults : renderingFaults(whole, formats, snippets, locale)).map(inLocale),
    warnings: warnings.map(inLocale),
  }
}

/** Checks the Liquid of a variant in all its locales before it is saved. Does not compile MJML. */
export const checkSources = (sources: Sources, note: NoteVariable = () => {}): CheckedSources => {
  const { locale, locales = {}, snippets = noSnippets, vars } = sources
  const faults = liquidFaults(sources, note)
  const warnings = [...mjmlAsText(sources), ...sourceWarnings(vars, renderedFormats(sources.formats), snippets, locale)]
  const others = Object.keys(locales).map((tag) => checkLocale(sources, tag, note))
  return {
    faults: [...faults, ...others.flatMap((other) => other.faults)],
    warnings: [...warnings, ...others.flatMap((other) => other.warnings)],
    compiled: [],
  }
}
