// The process behind `Checking`.
import "../runtime/leakGuard.ts"
import process from "node:process"
import { Result } from "effect"
import type { Fault } from "../domain/Errors.ts"
import * as Json from "../domain/Json.ts"
import type { TemplateInput } from "../domain/Template.ts"
import { decode as decodeMapping, dryRun } from "../intake/mapping/Mapping.ts"
import { answerAsProcess } from "../store/WorkerProtocol.ts"
import { decodeImport, inputFaults } from "../templates/ImportInput.ts"
import * as TemplateFile from "../templates/TemplateFile.ts"
import type { CheckKind, CheckRequest, Checks } from "../checking/Checks.ts"
import { renderEach, sourceFaults } from "./Liquid.ts"

// Hostile texts have up to hundreds of thousands of faults, and a stack trace costs more than its fault.
Error.stackTraceLimit = 0

// `yaml` asks for variables of the environment, which this process has no permission to read.
process.env = {}

type Note = (value: unknown) => void
type Handlers = {
  readonly [Kind in CheckKind]: (request: Checks[Kind]["request"], note: Note) => Checks[Kind]["answer"]
}

/** The faults of templates, Liquid included. Equal variants, frequent in large imports, are checked once. */
const faultsOf = (
  templates: ReadonlyArray<TemplateInput>,
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

const parsed = (text: string, name: string): Result.Result<unknown, Fault> => {
  try {
    return Result.succeed(Json.parse(text))
  } catch (error) {
    return Result.fail({ pointer: name, detail: Json.explain(error) })
  }
}

const handlers: Handlers = {
  sources: ({ variants }, note) =>
    variants.map((one, variant) => sourceFaults(one, (variable) => note({ variant, variable }))),
  render: renderEach,
  import: ({ body }, note) => {
    const decoded = decodeImport(Json.parse(body))
    if (Result.isFailure(decoded)) return { faults: decoded.failure }
    const faults = faultsOf(decoded.success, note)
    return faults.length === 0 ? { templates: decoded.success } : { faults }
  },
  file: ({ text }, note) => {
    const read = TemplateFile.readFile(text, "file")
    if (Result.isFailure(read)) return { faults: read.failure }
    const { faultAt, templates } = read.success
    const faults = faultsOf(templates, (pointer) => note(faultAt({ pointer, detail: "" })))
    return faults.length === 0 ? { templates } : { faults: faults.map(faultAt) }
  },
  format: ({ as, templates }) => TemplateFile.format(templates, as),
  mapping: ({ body, headers, mapping, receivedAt }) => {
    const json = parsed(mapping, "")
    if (Result.isFailure(json)) return { faults: [json.failure] }
    const decoded = decodeMapping(json.success)
    if (Result.isFailure(decoded)) return { faults: decoded.failure }
    return { run: dryRun(decoded.success, new TextEncoder().encode(body), headers, receivedAt) }
  },
}

await answerAsProcess(({ kind, ...request }: CheckRequest, note) => {
  const handle = handlers[kind] as (request: unknown, note: Note) => unknown
  return handle(request, note)
})
