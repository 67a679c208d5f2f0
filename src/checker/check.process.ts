// The process behind `Checking`.
import "../runtime/leakGuard.ts"
import process from "node:process"
import { Result } from "effect"
import type { Fault } from "../domain/Errors.ts"
import * as Json from "../json/Json.ts"
import { explainBody } from "../intake/ExplainBody.ts"
import type { Reading } from "../intake/Sources.ts"
import { decode as decodeMapping, dryRun } from "../intake/mapping/Mapping.ts"
import { answerAsProcess } from "../store/WorkerProtocol.ts"
import { readCopy } from "../templates/CopyCsv.ts"
import { applyTranslations } from "../templates/Translations.ts"
import * as TemplateFile from "../templates/TemplateFile.ts"
import type { CheckKind, CheckRequest, Checks } from "../checking/Checks.ts"
import { checkFile, checkJson } from "./Imports.ts"
import { mjmlNames } from "../domain/Template.ts"
import { convert } from "../rendering/conversion/Conversion.ts"
import { renderEach } from "./Liquid.ts"
import { loadMjml } from "./Mjml.ts"
import { checkVariant } from "./Variant.ts"

// Hostile texts have up to hundreds of thousands of faults, and a stack trace costs more than its fault.
Error.stackTraceLimit = 0

// `yaml` reads environment variables, for which this process has no permission.
process.env = {}

type Note = (value: unknown) => void
type Handlers = {
  readonly [Kind in CheckKind]: (request: Checks[Kind]["request"], note: Note) => Checks[Kind]["answer"]
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
    variants.map((one, variant) => checkVariant(one, (variable) => note({ variant, variable }))),
  render: renderEach,
  import: ({ body, snippets }, note) => checkJson(Json.parse(body), snippets, note),
  file: ({ snippets, text }, note) => checkFile(text, "file", note, snippets),
  convert: ({ formats, from, vars }) =>
    Object.fromEntries(
      Object.entries(vars).map(([name, source]) => [name, convert(source, from, formats[name] ?? "text")]),
    ),
  copy: ({ text }) => readCopy(text),
  strings: ({ template, text }) => {
    const applied = applyTranslations(template, text)
    return Result.isFailure(applied) ? { faults: applied.failure } : applied.success
  },
  format: ({ as, snippets, templates }) => TemplateFile.format(templates, as, snippets),
  mapping: ({ body, headers, mapping, receivedAt }) => {
    const json = parsed(mapping, "")
    if (Result.isFailure(json)) return { faults: [json.failure] }
    const decoded = decodeMapping(json.success)
    if (Result.isFailure(decoded)) return { faults: decoded.failure }
    return { run: dryRun(decoded.success, new TextEncoder().encode(body), headers, receivedAt) }
  },
  body: ({ body, headers, reading, receivedAt, source }) =>
    explainBody(source, reading as Reading | undefined, new TextEncoder().encode(body), headers, receivedAt),
}

/** Whether a request may have MJML. */
const usesMjml = (request: CheckRequest): boolean => {
  switch (request.kind) {
    case "sources":
    case "render":
      return request.variants.some((one) => mjmlNames(one).length > 0)
    case "import":
      return request.body.includes("mjml")
    case "file":
      return request.text.includes("mjml")
    default:
      return false
  }
}

await answerAsProcess(async (asked: CheckRequest, note) => {
  if (usesMjml(asked)) await loadMjml()
  const { kind, ...request } = asked
  const handle = handlers[kind] as (request: unknown, note: Note) => unknown
  return handle(request, note)
})
