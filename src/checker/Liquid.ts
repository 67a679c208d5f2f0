import { Result } from "effect"
import { Buffer } from "node:buffer"
import { renderedFormats } from "../domain/Template.ts"
import { fallbackChain, textsFor } from "../domain/Locale.ts"
import * as Json from "../json/Json.ts"
import { stepsOnly } from "../rendering/Budget.ts"
import { checkSources, plainFault } from "../rendering/CheckSources.ts"
import { marked, missingNames, previewWarnings } from "../rendering/PreviewWarnings.ts"
import * as Renderer from "../rendering/Renderer.ts"
import { noSnippets } from "../domain/Snippet.ts"
import type { SourceFault } from "../text/TextFaults.ts"
import type { Rendered, RenderRequest, Sources } from "../checking/Checks.ts"
import { compileVariant, inSource } from "./Variant.ts"

type Fields = Readonly<Record<string, unknown>>

const cutTo = (vars: Readonly<Record<string, string>>, maxText = Infinity): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(vars).map(([name, text]) => [name, text.slice(0, maxText)]))

/** Returns the first warning of each place. */
const firstOfPlaces = (warnings: ReadonlyArray<SourceFault>): ReadonlyArray<SourceFault> => {
  const places = new Map<string, SourceFault>()
  for (const warning of warnings) {
    const place = `${warning.line} ${warning.column} ${warning.locale ?? ""} ${warning.variable}`
    if (!places.has(place)) places.set(place, warning)
  }
  return [...places.values()]
}

/** Returns a variant whose MJML has marks of its elements. Undefined if the marks make it too long. */
const parsedWithBlocks = (sources: Sources) => {
  const variant = compileVariant(sources, undefined, true)
  const parsed = Renderer.parseVars(variant.vars, renderedFormats(sources.formats))
  return variant.faults.length > 0 || Result.isFailure(parsed) ? undefined : { variant, parsed: parsed.success }
}

/** Renders one variant with sample fields. */
const renderOne = (
  sources: Sources,
  { check, maxText, now, showsBlocks = false, strict, timeZone }: RenderRequest,
  fields: Fields,
): Rendered => {
  const checked = check === undefined ? { faults: [], warnings: [] } : checkSources(sources)
  if (check === "draft" && checked.faults.length > 0) return { stage: "source", faults: checked.faults }
  const { locale, locales = {}, shown } = sources
  const texts = shown === undefined ? undefined : textsFor({ ...sources, locales }, fallbackChain(shown), locale ?? "")
  const inLocale = { locale, localeOf: texts?.localeOf }
  const inTexts = { ...sources, vars: texts?.vars ?? sources.vars }
  const variant = compileVariant(inTexts)
  if (variant.faults.length > 0) return { stage: "source", faults: variant.faults }
  const formats = renderedFormats(sources.formats)
  const { snippets = noSnippets } = sources
  const placed = (faults: ReadonlyArray<SourceFault>, from = variant) =>
    faults.map((fault): SourceFault => {
      const own = texts?.localeOf[fault.variable]
      const plain = plainFault(inSource(from, fault))
      return own === undefined || own === locale ? plain : { ...plain, locale: own }
    })
  const parsed = Renderer.parseVars(variant.vars, formats)
  if (Result.isFailure(parsed)) return { stage: "source", faults: placed(parsed.failure.faults) }
  const unusable: Array<SourceFault> = []
  const rendered = Renderer.render(parsed.success, fields, {
    strict,
    ...inLocale,
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
      ? { stage: "source", faults: placed(limits) }
      : { stage: "render", faults: placed(rendered.failure.faults) }
  }
  const compiled = Object.fromEntries(
    Object.entries(variant.compiled).map(([name, { html = "" }]) => [name, Buffer.byteLength(html)]),
  )
  const vars = cutTo(rendered.success, maxText)
  if (check === undefined) return { vars, warnings: placed(unusable), compiled, missing: [], marked: {} }
  // A sent message has no marks of elements, so the preview renders a second time.
  const withBlocks = showsBlocks ? parsedWithBlocks(inTexts) : undefined
  const observed = Renderer.observe(withBlocks?.parsed ?? parsed.success, fields, {
    ...inLocale,
    now,
    timeZone,
    snippets,
    budget: stepsOnly(),
  })
  const found = [
    ...checked.faults,
    ...checked.warnings,
    ...variant.warnings,
    ...placed(unusable),
    ...placed(previewWarnings(observed, formats), withBlocks?.variant),
  ]
  const missing = [...new Set(observed.flatMap(missingNames))]
  const always = withBlocks === undefined ? [] : Object.keys(compiled)
  const shownVars = cutTo(marked(observed, formats, always), maxText)
  return { vars, warnings: firstOfPlaces(found), compiled, missing, marked: shownVars }
}

/** Renders each variant separately with sample fields. */
export const renderEach = (request: RenderRequest): ReadonlyArray<Rendered> => {
  const fields = Json.parse(request.fields) as Fields
  return request.variants.map((one) => renderOne(one, request, fields))
}
