import { Result, Schema } from "effect"
import type { CopyId } from "../domain/Ids.ts"
import { tagLinks } from "../rendering/Links.ts"
import * as Renderer from "../rendering/Renderer.ts"
import type { TemplateView, VariantView } from "../templates/Views.ts"

/** The chosen variant cannot be rendered with these fields; nothing was recorded. */
export class NotRendered extends Schema.TaggedError<NotRendered>()("NotRendered", {
  templateId: Schema.String,
  copyId: Schema.String,
  faults: Schema.Array(Schema.Struct({ variable: Schema.String, detail: Schema.String })),
}) {}

/** A variant with its words, or why there is none. Nothing is recorded in the second case. */
export type Outcome =
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
    readonly _tag: "NotRendered"
    readonly trackingId: string
    readonly error: NotRendered
  }

/** What was rendered, with the tracking id in the links of `html` variables that lead to the template's domains. */
const withLinks = (
  { linkDomains }: TemplateView,
  { formats }: VariantView,
  rendered: Readonly<Record<string, string>>,
  trackingId: string,
): Readonly<Record<string, string>> =>
  linkDomains.length === 0 ? rendered : Object.fromEntries(
    Object.entries(rendered).map(([name, text]) => [
      name,
      Object.hasOwn(formats, name) && formats[name] === "html"
        ? tagLinks(text, { domains: linkDomains, trackingId })
        : text,
    ]),
  )

const render = (
  view: TemplateView,
  variant: VariantView,
  fields: Readonly<Record<string, unknown>>,
  now: number,
  trackingId: string,
): Result.Result<Readonly<Record<string, string>>, NotRendered> => {
  const refuse = ({ faults }: Renderer.LiquidFaults | Renderer.RenderFault) =>
    Result.fail(
      new NotRendered({
        templateId: view.id,
        copyId: variant.id,
        faults: faults.map(({ message, variable }) => ({ variable, detail: message })),
      }),
    )
  const parsed = Renderer.parseVars(variant.vars, variant.formats)
  if (Result.isFailure(parsed)) return refuse(parsed.failure)
  const options = { strict: view.strict, now, timeZone: view.org.timeZone }
  const rendered = Renderer.render(parsed.success, fields, options)
  if (Result.isFailure(rendered)) return refuse(rendered.failure)
  return Result.succeed(withLinks(view, variant, rendered.success, trackingId))
}

/** The outcome of a variant that was chosen, with its words as of `now`, or why they cannot be rendered. */
export const chosen = (
  view: TemplateView,
  variant: VariantView,
  fields: Readonly<Record<string, unknown>>,
  now: number,
  trackingId: string,
  durable: boolean,
  trace?: unknown,
): Outcome => {
  const rendered = render(view, variant, fields, now, trackingId)
  return Result.isFailure(rendered)
    ? { _tag: "NotRendered", trackingId, error: rendered.failure }
    : { _tag: "Chosen", trackingId, copyId: variant.id, vars: rendered.success, durable, trace }
}
