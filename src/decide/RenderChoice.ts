import { Result } from "effect"
import type { Attributes } from "../domain/Attributes.ts"
import type { CopyId } from "../domain/Ids.ts"
import { inHeader, named, namedAtMost } from "../domain/WarningText.ts"
import { noMessage, noMessageReason } from "../journal/decisions/Decision.ts"
import type { Budget } from "../rendering/Budget.ts"
import { LimitReached } from "../rendering/LimitReached.ts"
import { tagLinks } from "../rendering/Links.ts"
import * as Renderer from "../rendering/Renderer.ts"
import type { SourceFault } from "../text/TextFaults.ts"
import type { TemplateView, VariantView } from "../templates/TemplateCache.ts"
import { fallbackChain, type LocaleTexts } from "../domain/Locale.ts"
import { type Answer, NotRendered, withWarnings } from "./Answer.ts"
import { localeTexts, personLocale } from "./PersonLocale.ts"

/** The values with which a variant is rendered, and the budget for it. */
interface RenderInput {
  readonly attrs: Attributes
  readonly fields: Readonly<Record<string, unknown>>
  readonly budget: Budget
}

/**
 * Adds the tracking id to the links of `html` variables that lead to the template's domains. Fails with the variable
 * whose links exceed the rest of the budget.
 */
const withLinks = (
  { linkDomains }: TemplateView,
  { formats }: VariantView,
  rendered: Readonly<Record<string, string>>,
  trackingId: string,
  budget: Budget,
): Result.Result<Readonly<Record<string, string>>, { readonly variable: string; readonly detail: string }> => {
  const tagged: Array<readonly [string, string]> = []
  for (const [variable, text] of Object.entries(rendered)) {
    const isHtml = Object.hasOwn(formats, variable) && formats[variable] === "html"
    try {
      tagged.push([variable, isHtml ? tagLinks(text, { domains: linkDomains, trackingId, budget }) : text])
    } catch (error) {
      if (error instanceof LimitReached) return Result.fail({ variable, detail: error.message })
      throw error
    }
  }
  return Result.succeed(Object.fromEntries(tagged))
}

const faultsOf = ({ faults }: Renderer.LiquidFaults | Renderer.RenderFault): NotRendered["faults"] =>
  faults.map((fault) => ({
    variable: fault.variable,
    detail: fault.message,
    ..."undefinedVariables" in fault && fault.undefinedVariables.length > 0
      ? { missing: fault.undefinedVariables }
      : {},
  }))

const refused = (view: TemplateView, variant: VariantView, faults: NotRendered["faults"]): NotRendered =>
  new NotRendered({ templateId: view.id, copyId: variant.id, faults })

const warningOf = ({ column, line, message, variable }: SourceFault): string =>
  inHeader(`"${named(variable)}", line ${line}, column ${column}: ${message}`)

/** Returns the rendered variables, or the faults that prevent rendering. `warn` receives unusable values. */
const render = (
  view: TemplateView,
  variant: VariantView,
  texts: LocaleTexts | undefined,
  { budget, fields }: RenderInput,
  now: number,
  trackingId: string,
  warn: (warning: SourceFault) => void,
): Readonly<Record<string, string>> | NotRendered => {
  const parsed = Renderer.parseVars(texts?.vars ?? variant.vars, variant.formats)
  if (Result.isFailure(parsed)) return refused(view, variant, faultsOf(parsed.failure))
  const { snippets, timeZone } = view.org
  const { localeOf } = texts ?? {}
  const options = { strict: view.strict, now, timeZone, snippets, budget, warn, localeOf }
  const rendered = Renderer.render(parsed.success, fields, options)
  if (Result.isFailure(rendered)) return refused(view, variant, faultsOf(rendered.failure))
  if (view.linkDomains.length === 0) return rendered.success
  const linked = withLinks(view, variant, rendered.success, trackingId, budget)
  return Result.isSuccess(linked) ? linked.success : refused(view, variant, [linked.failure])
}

/** A request for a template, at one moment. */
interface ChoiceInput {
  readonly view: TemplateView
  readonly request: RenderInput
  readonly nowMillis: number
  /** The locale of an earlier rendering that is repeated. Default: the locale of the request. */
  readonly locale?: string | undefined
}

/** Returns the answer to a choice: the rendered variant, or the faults that prevent rendering. */
const renderVariant = (
  view: TemplateView,
  variant: VariantView,
  { locale: sent, nowMillis, request }: ChoiceInput,
  trackingId: string,
  trace: unknown,
): Answer => {
  let warnings: Array<string> | undefined
  let texts: LocaleTexts | undefined
  if (view.locale !== null) {
    const person = sent === undefined ? personLocale(view.locale, request) : { chain: fallbackChain(sent) }
    texts = localeTexts(view.locale, variant, person.chain)
    if ("warning" in person) warnings = [person.warning]
  }
  const rendered = render(view, variant, texts, request, nowMillis, trackingId, (warning) => {
    warnings ??= []
    if (warnings.length < namedAtMost) warnings.push(warningOf(warning))
  })
  if (rendered instanceof NotRendered) return { _tag: "NotRendered", trackingId, error: rendered }
  const { locale } = texts ?? {}
  const answer = {
    _tag: "Chosen",
    trackingId,
    copyId: variant.id,
    vars: rendered,
    locale,
    durable: true,
    trace,
  } as const
  return warnings === undefined ? answer : withWarnings<Answer>(answer, warnings)
}

/**
 * Renders a choice under a tracking id. Undefined if its variant has been removed. `isControl`: whether the user is held
 * out.
 */
export const renderChoice = (
  input: ChoiceInput,
  copyId: CopyId,
  trackingId: string,
  trace: unknown,
  isControl: boolean,
): Answer | undefined => {
  if (copyId === noMessage) {
    return { _tag: "NoMessage", trackingId, reason: noMessageReason(isControl), durable: true, trace }
  }
  const variant = input.view.variantsById.get(copyId)
  return variant && renderVariant(input.view, variant, input, trackingId, trace)
}
