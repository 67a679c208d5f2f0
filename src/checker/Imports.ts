import type { CheckedImport } from "../checking/Checks.ts"
import type { Fault } from "../domain/Errors.ts"
import {
  decodeImport,
  inputFaults,
  maxFormFaults,
  readLiquid,
  type TemplateLiquid,
  withoutFaults,
} from "../templates/ImportInput.ts"
import * as TemplateFile from "../templates/TemplateFile.ts"
import { sourceFaults } from "./Liquid.ts"

/**
 * Returns the faults of templates in addition to the faults of their form. Equal variants, which are frequent in large
 * imports, are checked once.
 */
const faultsOf = (
  templates: ReadonlyArray<TemplateLiquid>,
  note: (pointer: string) => void,
): ReadonlyArray<Fault> => {
  const sound = new Set<string>()
  return inputFaults(templates, ({ formats = {}, vars }, at) => {
    note(at)
    const key = JSON.stringify([vars, formats])
    if (sound.has(key)) return []
    const faults = sourceFaults({ vars, formats })
    if (faults.length === 0) sound.add(key)
    return faults
  })
}

/** Checks form and Liquid of the JSON of an import. `note` gets the pointer of each variant before its check. */
export const checkJson = (json: unknown, note: (pointer: string) => void): CheckedImport<Fault> => {
  const { faults: ofForm, templates } = decodeImport(json)
  if (ofForm.length >= maxFormFaults) return { templates: [], faults: ofForm }
  const faults = [...ofForm, ...faultsOf(readLiquid(json), note)]
  return { templates: withoutFaults(templates, faults), faults }
}

/** Checks form and Liquid of a template file. `note` gets the place of each variant before its check. */
export const checkFile = (
  text: string,
  fileName: string,
  note: (place: TemplateFile.FileFault) => void,
): CheckedImport<TemplateFile.FileFault> => {
  const { faultAt, faults, json, templates } = TemplateFile.examine(text, fileName)
  if (faults.length >= maxFormFaults) return { templates: [], faults }
  const ofLiquid = faultsOf(readLiquid(json), (pointer) => note(faultAt({ pointer, detail: "" })))
  return {
    templates: withoutFaults(templates, ofLiquid),
    faults: TemplateFile.inOrder([...faults, ...ofLiquid.map(faultAt)]),
  }
}
