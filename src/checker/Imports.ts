import type { CheckedImport, CompiledSource } from "../checking/Checks.ts"
import type { Fault } from "../domain/Errors.ts"
import { renderedIds, type SnippetSources } from "../domain/Snippet.ts"
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
  const faults = inputFaults(templates, ({ formats = {}, vars }, at) => {
    note(at)
    const key = JSON.stringify([vars, formats])
    if (sound.has(key)) return []
    const checked = checkVariant({ vars, formats, snippets })
    if (checked.faults.length === 0) sound.add(key)
    compiled.push(...checked.compiled)
    if (warnings.length < maxWarnings) warnings.push(...atVariables(checked.warnings, at))
    return checked.faults
  })
  return { faults, warnings, compiled }
}

/** Checks form and Liquid of the JSON of an import. `note` gets the pointer of each variant before its check. */
export const checkJson = (
  json: unknown,
  snippets: SnippetSources,
  note: (pointer: string) => void,
): CheckedImport<Fault> => {
  const { faults: ofForm, templates } = decodeImport(json)
  if (ofForm.length >= maxFormFaults) return { templates: [], faults: ofForm, warnings: [], compiled: [] }
  const checked = check(readLiquid(json), snippets, note)
  const faults = [...ofForm, ...checked.faults]
  return { ...checked, templates: withoutFaults(templates, faults), faults }
}

/** Empty snippets in place of those that a file renders, for a check without the organization. */
const assumed = (text: string): SnippetSources =>
  new Map(renderedIds([text]).map((id) => [id, { text: "", format: "text" }]))

/** Checks form and Liquid of a template file. `note` gets the place of each variant before its check. */
export const checkFile = (
  text: string,
  fileName: string,
  note: (place: TemplateFile.FileFault) => void,
  snippets: SnippetSources = assumed(text),
): CheckedImport<TemplateFile.FileFault> => {
  const { faultAt, faults, json, templates } = TemplateFile.examine(text, fileName)
  if (faults.length >= maxFormFaults) return { templates: [], faults, warnings: [], compiled: [] }
  const ofLiquid = check(readLiquid(json), snippets, (pointer) => note(faultAt({ pointer, detail: "" })))
  return {
    templates: withoutFaults(templates, ofLiquid.faults),
    faults: TemplateFile.inOrder([...faults, ...ofLiquid.faults.map(faultAt)]),
    warnings: TemplateFile.inOrder(ofLiquid.warnings.map(faultAt)),
    compiled: ofLiquid.compiled,
  }
}
