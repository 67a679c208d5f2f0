import { Clock, Context, Effect, Layer, Result } from "effect"
import type { Attributes } from "../domain/Attributes.ts"
import { type Fault, InvalidInput, TemplateNotFound, VariantNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { Formats, Vars } from "../domain/Template.ts"
import * as Renderer from "../rendering/Renderer.ts"
import { SourceCheck } from "../rendering/SourceCheck.ts"
import { Views, whyNotEligible } from "../templates/Views.ts"
import { NotRendered } from "./Outcome.ts"

/** What to show: sources as written, or a stored variant, or neither to see only who is eligible. */
export interface PreviewAsk {
  readonly vars: Vars | undefined
  readonly formats: Formats | undefined
  readonly copyId: string | undefined
  readonly fields: Readonly<Record<string, unknown>>
  readonly attrs: Attributes
}

export interface Preview {
  readonly vars?: Readonly<Record<string, string>>
  readonly variants: ReadonlyArray<{ readonly id: string; readonly eligible: boolean; readonly reason?: string }>
}

/** Shows authors what would be sent and to whom, without deciding anything. */
export class Previews extends Context.Service<Previews, {
  readonly preview: (
    org: OrgSlug,
    template: string,
    ask: PreviewAsk,
  ) => Effect.Effect<Preview, TemplateNotFound | VariantNotFound | InvalidInput | NotRendered>
}>()("parlance/decisions/Previews") {
  static readonly layer = Layer.effect(
    Previews,
    Effect.gen(function* () {
      const views = yield* Views
      const sources = yield* SourceCheck

      const preview = Effect.fn("Previews.preview")(function* (org: OrgSlug, template: string, ask: PreviewAsk) {
        const view = views.template(org, template)
        if (view === undefined) return yield* new TemplateNotFound({ id: template })
        const now = yield* Clock.currentTimeMillis
        const variants = view.variants.map((variant) => {
          const reason = whyNotEligible(variant, ask.attrs, now)
          return { id: variant.id, eligible: reason === undefined, ...(reason === undefined ? {} : { reason }) }
        })
        const stored = ask.copyId === undefined ? undefined : view.variantsById.get(ask.copyId)
        if (ask.copyId !== undefined && stored === undefined) return yield* new VariantNotFound({ id: ask.copyId })
        const vars = ask.vars ?? stored?.vars
        if (vars === undefined) return { variants }
        const formats = ask.formats ?? stored?.formats ?? {}
        // Nobody has checked these sources yet: they are tried where they can be stopped.
        const faults = (faults: ReadonlyArray<Renderer.SourceFault>): ReadonlyArray<Fault> =>
          faults.map(({ column, line, message, variable }) => ({
            pointer: `/vars/${variable.replaceAll("~", "~0").replaceAll("/", "~1")}`,
            detail: `line ${line}, column ${column}: ${message}`,
          }))
        yield* Effect.mapError(
          sources.check(vars, formats, ask.fields),
          (error) => new InvalidInput({ faults: faults(error.faults) }),
        )
        const parsed = Renderer.parseVars(vars, formats)
        if (Result.isFailure(parsed)) return yield* new InvalidInput({ faults: faults(parsed.failure.faults) })
        const rendered = Renderer.render(parsed.success, ask.fields, {
          strict: view.strict,
          now,
          timeZone: view.org.timeZone,
        })
        if (Result.isFailure(rendered)) {
          return yield* new NotRendered({
            templateId: view.id,
            copyId: ask.copyId ?? "",
            faults: rendered.failure.faults.map(({ message, variable }) => ({ variable, detail: message })),
          })
        }
        return { vars: rendered.success, variants }
      })

      return Previews.of({ preview })
    }),
  )
}
