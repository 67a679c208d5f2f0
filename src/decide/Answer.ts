import { Result, Schema } from "effect"
import type { CopyId } from "../domain/Ids.ts"
import { type Budget, LimitReached } from "../rendering/Budget.ts"
import { tagLinks } from "../rendering/Links.ts"
import * as Renderer from "../rendering/Renderer.ts"
import type { TemplateView, VariantView } from "../templates/TemplateCache.ts"

/** The chosen variant cannot be rendered with these fields, or none can be chosen within limits; nothing was recorded. */
export class NotRendered extends Schema.TaggedError<NotRendered>()("NotRendered", {
  templateId: Schema.String,
  /** Null: checking who the variants are for takes too much work, so none was chosen. */
  copyId: Schema.NullOr(Schema.String),
  faults: Schema.Array(Schema.Struct({ variable: Schema.String, detail: Schema.String })),
}) {}

/** What the caller should know of a request that was answered, for the header `Parlance-Warnings`. */
interface Warned {
  /** Each says what is at fault, where, and its effect, with names as `named` writes them. Absent without any. */
  readonly warnings?: ReadonlyArray<string> | undefined
}

/** A rendered variant, or the reason why there is none. Without a variant, no decision is recorded. */
export type Answer = Warned & Outcome

type Outcome =
  | {
    readonly _tag: "Chosen"
    readonly trackingId: string
    readonly copyId: CopyId
    readonly vars: Readonly<Record<string, string>>
    /** False while the store is down: the decision is in memory only. */
    readonly durable: boolean
    readonly trace?: unknown
  }
  | {
    readonly _tag: "None"
    readonly trackingId: string
    readonly reason: "no-candidate" | "template-not-found" | "template-archived" | "variant-not-found"
    readonly trace?: unknown
  }
  | {
    /** The user is held out and gets no message, which is recorded. */
    readonly _tag: "HeldOut"
    readonly trackingId: string
    /** As above. */
    readonly durable: boolean
    readonly trace?: unknown
  }
  | {
    readonly _tag: "NotRendered"
    readonly trackingId: string
    readonly error: NotRendered
  }

/** The answer with further warnings. */
export const withWarnings = <A extends Answer>(answer: A, warnings: ReadonlyArray<string>): A =>
  warnings.length === 0 ? answer : { ...answer, warnings: [...answer.warnings ?? [], ...warnings] }

/** The values that a variant is rendered with, and the budget for it. */
export interface RenderInput {
  readonly fields: Readonly<Record<string, unknown>>
  readonly budget: Budget
}

/** The error of a template whose variants take too much work to check against the attributes. */
export const targetingLimit = ({ id }: TemplateView, { limit, message }: LimitReached): NotRendered =>
  new NotRendered({
    templateId: id,
    copyId: null,
    faults: [{
      variable: "targeting",
      detail: limit === undefined
        ? message
        : `takes too much work to check (more than ${limit}): send fewer values in each attribute, ` +
          "or give the template fewer variants or conditions",
    }],
  })

/**
 * The rendered variables, with the tracking id in the links of `html` variables that lead to the template's domains.
 * Fails with the variable whose links are more work than the budget has left.
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
  faults.map(({ message, variable }) => ({ variable, detail: message }))

const refused = (view: TemplateView, variant: VariantView, faults: NotRendered["faults"]): NotRendered =>
  new NotRendered({ templateId: view.id, copyId: variant.id, faults })

/** The rendered variables, or why there are none. */
const render = (
  view: TemplateView,
  variant: VariantView,
  { budget, fields }: RenderInput,
  now: number,
  trackingId: string,
): Readonly<Record<string, string>> | NotRendered => {
  const parsed = Renderer.parseVars(variant.vars, variant.formats)
  if (Result.isFailure(parsed)) return refused(view, variant, faultsOf(parsed.failure))
  const options = { strict: view.strict, now, timeZone: view.org.timeZone, budget }
  const rendered = Renderer.render(parsed.success, fields, options)
  if (Result.isFailure(rendered)) return refused(view, variant, faultsOf(rendered.failure))
  if (view.linkDomains.length === 0) return rendered.success
  const linked = withLinks(view, variant, rendered.success, trackingId, budget)
  return Result.isSuccess(linked) ? linked.success : refused(view, variant, [linked.failure])
}

/** The answer to a choice: the variant rendered as of `now`, or the faults that prevent that. */
export const renderVariant = (
  view: TemplateView,
  variant: VariantView,
  request: RenderInput,
  now: number,
  trackingId: string,
  trace: unknown,
): Answer => {
  const rendered = render(view, variant, request, now, trackingId)
  return rendered instanceof NotRendered
    ? { _tag: "NotRendered", trackingId, error: rendered }
    : { _tag: "Chosen", trackingId, copyId: variant.id, vars: rendered, durable: true, trace }
}
