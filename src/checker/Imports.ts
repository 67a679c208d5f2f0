import type { CheckedImport, CompiledSource } from "../checking/Checks.ts"
import type { Fault } from "../domain/Errors.ts"
import { renderedIds, type SnippetFileInput, type SnippetSources } from "../domain/Snippet.ts"
import {
  atVariables,
  decodeImport,
  inputFaults,
  maxFormFaults,
  readLiquid,
  type TemplateLiquid,
  withoutFaults,
} from "../templates/ImportInput.ts"
import * as TemplateFile from "../templates/TemplateFile.ts"
import { checkVariant } from "./Variant.ts"

/** Maximum number of warnings of one import. */
const maxWarnings = 1_000

/**
 * Returns the faults of templates in addition to the faults of their form, and warnings. Equal variants, which are
 * frequent in large imports, are checked once.
 */
const check = (
  templates: ReadonlyArray<TemplateLiquid>,
  snippets: SnippetSources,
  note: (pointer: string) => void,
) => {
  const sound = new Set<string>()
  const warnings: Array<Fault> = []
  const compiled: Array<CompiledSource> = []
  const faults = inputFaults(templates, ({ formats = {}, locales, vars }, at, locale) => {
    note(at)
    const key = JSON.stringify([vars, formats, locales, locale])
    if (sound.has(key)) return []
    const checked = checkVariant({ vars, formats, snippets, locales, locale })
    if (checked.faults.length === 0) sound.add(key)
    compiled.push(...checked.compiled)
    if (warnings.length < maxWarnings) warnings.push(...atVariables(checked.warnings, at))
    return checked.faults
  })
  return { faults, warnings, compiled }
}

/** Returns the snippets that an organization will have: its own, replaced by snippets of the import. */
const withOwn = (snippets: SnippetSources, own: ReadonlyArray<SnippetFileInput>): SnippetSources =>
  new Map([
    ...snippets,
    ...own.map(({ format, id, text }) => [id, { text, format: format ?? snippets.get(id)?.format ?? "text" }] as const),
  ])

/** Returns the faults of the snippets of an import, with pointers to their texts. */
const snippetFaults = (own: ReadonlyArray<SnippetFileInput>, all: SnippetSources): ReadonlyArray<Fault> =>
  own.flatMap(({ id, text }, index) => {
    const { faults } = checkVariant({ vars: { text }, formats: { text: all.get(id)!.format }, snippets: all })
    return faults.map(({ column, line, message }) => ({
      pointer: `/snippets/${index}/text`,
      detail: `line ${line}, column ${column}: ${message}`,
    }))
  })

/** Checks form and Liquid of the JSON of an import. `note` gets the pointer of each variant before its check. */
export const checkJson = (
  json: unknown,
  snippets: SnippetSources,
  note: (pointer: string) => void,
): CheckedImport<Fault> => {
  const { faults: ofForm, snippets: own, templates } = decodeImport(json)
  if (ofForm.length >= maxFormFaults) return { templates: [], snippets: [], faults: ofForm, warnings: [], compiled: [] }
  const all = withOwn(snippets, own)
  const checked = check(readLiquid(json), all, note)
  const faults = [...ofForm, ...snippetFaults(own, all), ...checked.faults]
  return { ...checked, templates: withoutFaults(templates, faults), snippets: own, faults }
}

/** Empty snippets in place of the snippets that a file renders, for a check without the organization. */
const assumed = (text: string): SnippetSources =>
  new Map(renderedIds([text]).map((id) => [id, { text: "", format: "text" }]))

/** Checks form and Liquid of a template file. `note` gets the place of each variant before its check. */
export const checkFile = (
  text: string,
  fileName: string,
  note: (place: TemplateFile.FileFault) => void,
  snippets: SnippetSources = assumed(text),
): CheckedImport<TemplateFile.FileFault> => {
  const { faultAt, faults, json, snippets: own, templates } = TemplateFile.examine(text, fileName)
  if (faults.length >= maxFormFaults) return { templates: [], snippets: [], faults, warnings: [], compiled: [] }
  const all = withOwn(snippets, own)
  const ofLiquid = check(readLiquid(json), all, (pointer) => note(faultAt({ pointer, detail: "" })))
  return {
    templates: withoutFaults(templates, ofLiquid.faults),
    snippets: own,
    faults: TemplateFile.inOrder([...faults, ...[...snippetFaults(own, all), ...ofLiquid.faults].map(faultAt)]),
    warnings: TemplateFile.inOrder(ofLiquid.warnings.map(faultAt)),
    compiled: ofLiquid.compiled,
  }
}
