import type { CheckedSources, CompiledSource, Sources } from "../checking/Checks.ts"
import { fallbackChain, textsFor } from "../domain/Locale.ts"
import { noSnippets } from "../domain/Snippet.ts"
import { mjmlNames, renderedFormats, type Vars } from "../domain/Template.ts"
import { checkSources, renderingFaults } from "../rendering/CheckSources.ts"
import type { SourceFault } from "../text/TextFaults.ts"
import { type CompiledMjml, compileMjml } from "./Mjml.ts"

/** The variables of a variant with HTML in the place of MJML. */
interface CompiledVariant {
  readonly vars: Vars
  /** Faults and warnings of the MJML. With faults, `vars` has MJML. */
  readonly faults: ReadonlyArray<SourceFault>
  readonly warnings: ReadonlyArray<SourceFault>
  readonly compiled: Readonly<Record<string, CompiledMjml>>
}

/**
 * Compiles the MJML of a variant without faults of Liquid. `note` gets each variable before its work. `showsBlocks`: see
 * `compileMjml`.
 */
export const compileVariant = (
  { formats, vars }: Sources,
  note: (variable: string) => void = () => {},
  showsBlocks = false,
): CompiledVariant => {
  const names = mjmlNames({ formats, vars })
  if (names.length === 0) return { vars, faults: [], warnings: [], compiled: {} }
  const compiled = Object.fromEntries(names.map((variable) => {
    note(variable)
    return [variable, compileMjml(vars[variable]!, showsBlocks)]
  }))
  const all = Object.entries(compiled)
  return {
    vars: {
      ...vars,
      ...Object.fromEntries(all.flatMap(([name, { html }]) => html === undefined ? [] : [[name, html]])),
    },
    faults: all.flatMap(([variable, { faults }]) => faults.map((fault) => ({ variable, ...fault }))),
    warnings: all.flatMap(([variable, { warnings }]) => warnings.map((warning) => ({ variable, ...warning }))),
    compiled,
  }
}

/** Returns a fault or a warning of compiled variables with its place in the source. */
export const inSource = <F extends SourceFault>({ compiled }: CompiledVariant, fault: F): F =>
  Object.hasOwn(compiled, fault.variable)
    ? { ...fault, ...compiled[fault.variable]!.placeOf(fault.line, fault.column) }
    : fault

/** Checks the MJML of a variant without faults of Liquid, in the locale of its variables. */
const checkCompiled = (sources: Sources, note: (variable: string) => void): CheckedSources => {
  const one = compileVariant(sources, note)
  const { warnings } = one
  if (one.faults.length > 0) return { faults: one.faults, warnings, compiled: [] }
  const sourcesOf = Object.entries(one.compiled)
  // MJML repeats the values of attributes, so that the HTML can exceed limits that its source keeps.
  const faults = sourcesOf.length === 0
    ? []
    : renderingFaults(one.vars, renderedFormats(sources.formats), sources.snippets ?? noSnippets, sources.locale).map(
      (fault) => inSource(one, fault),
    )
  const compiled = sourcesOf.map(([name, { html }]): CompiledSource => ({ source: sources.vars[name]!, html: html! }))
  return { faults, warnings, compiled: faults.length > 0 ? [] : compiled }
}

/** Checks the Liquid and the MJML of a variant before it is saved, in all its locales. */
export const checkVariant = (sources: Sources, note: (variable: string) => void = () => {}): CheckedSources => {
  const checked = checkSources(sources, note)
  if (checked.faults.length > 0) return checked
  const { locales = {} } = sources
  const all = [
    checkCompiled(sources, note),
    ...Object.entries(locales).map(([locale, own]) => {
      const { vars } = textsFor({ ...sources, locales }, fallbackChain(locale), "")
      const { compiled, faults, warnings } = checkCompiled({ ...sources, vars, locale }, note)
      const isOwn = ({ variable }: SourceFault) => Object.hasOwn(own, variable)
      const inLocale = (fault: SourceFault): SourceFault => ({ ...fault, locale })
      return { compiled, faults: faults.filter(isOwn).map(inLocale), warnings: warnings.filter(isOwn).map(inLocale) }
    }),
  ]
  const faults = all.flatMap((one) => one.faults)
  return {
    faults,
    warnings: [...checked.warnings, ...all.flatMap((one) => one.warnings)],
    compiled: faults.length > 0 ? [] : all.flatMap((one) => one.compiled),
  }
}
