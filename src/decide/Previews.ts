import { Clock, Context, Effect, Layer } from "effect"
import { Checking, stoppedFault } from "../checking/Checking.ts"
import type { Rendered, Sources } from "../checking/Checks.ts"
import type { Attributes } from "../domain/Attributes.ts"
import { directionOf, fallbackChain, type LocalizedTexts, textsFor, untranslated } from "../domain/Locale.ts"
import { type ChecksBusy, InvalidInput, TemplateNotFound, VariantNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { type Formats, type Locales, mjmlNames, type Vars } from "../domain/Template.ts"
import { Budget } from "../rendering/Budget.ts"
import { type ChannelCheck, channelChecks } from "../rendering/ChannelChecks.ts"
import { LimitReached } from "../rendering/LimitReached.ts"
import type { SourceFault } from "../text/TextFaults.ts"
import { atVariables } from "../templates/ImportInput.ts"
import { Snippets } from "../templates/Snippets.ts"
import { TemplateCache, type TemplateView, whyNotEligible } from "../templates/TemplateCache.ts"
import { armOf } from "../bandit/Holdout.ts"
import { NotRendered, targetingLimit } from "./Answer.ts"
import { personLocale } from "./PersonLocale.ts"

/** The content to preview: Liquid sources, a stored variant, or neither to check only eligibility. */
export interface PreviewRequest {
  readonly vars: Vars | undefined
  readonly formats: Formats | undefined
  /** Texts in other locales, with `vars`. Default: none. */
  readonly locales?: Locales | undefined
  /** The locale to render. Default: the locale of `attrs` and `fields`. */
  readonly locale?: string | undefined
  readonly copyId: string | undefined
  readonly fields: Readonly<Record<string, unknown>>
  readonly attrs: Attributes
  /** Whether MJML in `marked` has marks of its elements (see `BlockMarks.ts`). Default: false. */
  readonly showsBlocks?: boolean
  /** The user whose side of the holdout is reported. Default: no user. */
  readonly userId?: string | undefined
}

/** The rendered content, and the variants that are eligible for the sample request. */
export interface Preview {
  readonly vars?: Readonly<Record<string, string>>
  /** The locale of the texts, and its direction. Present with `vars`, if the template names a locale. */
  readonly locale?: string
  readonly dir?: "ltr" | "rtl"
  /** Parts of the sources that are probably not what the author means. Present with `vars`. */
  readonly warnings?: ReadonlyArray<SourceFault>
  /** Lengths of variables that are texts of SMS or push. Present with `vars`. */
  readonly checks?: ReadonlyArray<ChannelCheck>
  /** Names of fields that are used without a default or a test, and have no sample value. Present with `vars`. */
  readonly missing?: ReadonlyArray<string>
  /** The variables with such fields, with marks in the place of their outputs. Present with `vars`. */
  readonly marked?: Readonly<Record<string, string>>
  /** Size of the HTML to which each MJML variable compiles. Unit: bytes. Absent without MJML. */
  readonly compiled?: Readonly<Record<string, number>>
  readonly variants: ReadonlyArray<{ readonly id: string; readonly eligible: boolean; readonly reason?: string }>
  /** Whether the user is held out. Absent without a user. */
  readonly held_out?: boolean
}

/** The address that `{{ unsubscribe_url }}` has in a preview. Deliver inserts the address of each message. */
const sampleUnsubscribeUrl = "https://example.com/unsubscribe"

/** Returns the locale of `vars`, and the locale that is shown. Undefined if the template names none. */
const localeOf = (
  { locale }: Pick<TemplateView, "locale">,
  texts: LocalizedTexts,
  { attrs, fields, locale: asked }: PreviewRequest,
): { readonly locale: string; readonly shown: string } | undefined => {
  if (locale === null) return undefined
  const chain = asked === undefined ? personLocale(locale, { attrs, fields }).chain : fallbackChain(asked)
  return { locale: locale.default, shown: textsFor(texts, chain, locale.default).locale }
}

/** Returns a warning for each locale in which other variants of the template have texts, and these texts are missing. */
const missingLocales = (
  { locale, variants }: TemplateView,
  locales: Locales,
  vars: Readonly<Record<string, string>>,
): ReadonlyArray<SourceFault> => {
  const [variable = ""] = Object.keys(vars)
  return untranslated(locales, variants, locale?.default).map((tag) => ({
    variable,
    line: 1,
    column: 1,
    locale: tag,
    message:
      `nothing is translated to "${tag}", in which other variants have texts: the texts of its fallback are sent`,
  }))
}

/** Options for the rendering of sample content. */
interface SampleOptions {
  /** A JSON object as text. */
  readonly fields: string
  readonly strict: boolean
  /** IANA name of the time zone. */
  readonly timeZone: string
  /** Number of characters kept of each rendered variable. Default: all. */
  readonly maxText?: number
  /** How the sources are checked: see `RenderRequest`. */
  readonly check?: "draft" | "stored"
  /** See `RenderRequest`. */
  readonly showsBlocks?: boolean
}

/**
 * Shows authors the content that would be sent and its recipients, without a decision. Renders in the checking process.
 */
export class Previews extends Context.Service<Previews, {
  /**
   * Renders a variant for sample values, and lists the eligible variants. Fails with `TemplateNotFound` for an unknown
   * template, `VariantNotFound` for an unknown variant, `InvalidInput` with every fault of invalid content,
   * `NotRendered` if the variant cannot be rendered, and `ChecksBusy` if too many checks are waiting.
   */
  readonly preview: (
    org: OrgSlug,
    template: string,
    ask: PreviewRequest,
  ) => Effect.Effect<Preview, TemplateNotFound | VariantNotFound | InvalidInput | NotRendered | ChecksBusy>
  /**
   * Renders each variant separately, as of now. Together they have the time limit of one check. Fails with `ChecksBusy`
   * if too many checks are waiting.
   */
  readonly render: (
    org: OrgSlug,
    variants: ReadonlyArray<Sources>,
    options: SampleOptions,
  ) => Effect.Effect<ReadonlyArray<Rendered>, ChecksBusy>
}>()("parlance/decide/Previews") {
  static readonly layer = Layer.effect(
    Previews,
    Effect.gen(function* () {
      const checking = yield* Checking
      const snippets = yield* Snippets
      const templateCache = yield* TemplateCache
      const clock = yield* Clock.Clock
      const monotonicNow = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

      const render = Effect.fn("Previews.render")(function* (
        org: OrgSlug,
        variants: ReadonlyArray<Sources>,
        options: SampleOptions,
      ) {
        if (variants.length === 0) return []
        const now = yield* Clock.currentTimeMillis
        const attached = yield* snippets.attach(org, variants)
        const deadline = variants.some((one) => mjmlNames(one).length > 0) ? "5 seconds" : undefined
        return yield* checking.run(org, "render", { variants: attached, now, ...options }, deadline).pipe(
          Effect.catchTag("WorkFailed", (failure) =>
            Effect.succeed(variants.map(({ vars }): Rendered => {
              const [variable = ""] = Object.keys(vars)
              return { stage: "source", faults: [{ variable, line: 1, column: 1, message: stoppedFault(failure) }] }
            }))),
        )
      })

      const preview = Effect.fn("Previews.preview")(function* (org: OrgSlug, template: string, ask: PreviewRequest) {
        yield* templateCache.lookUp(org, template)
        const view = templateCache.template(org, template)
        if (view === undefined) return yield* new TemplateNotFound({ id: template })
        const now = yield* Clock.currentTimeMillis
        const budget = new Budget(1, monotonicNow)
        const variants = yield* Effect.try({
          try: () =>
            view.variants.map((variant) => {
              const reason = whyNotEligible(variant, ask.attrs, now, budget)
              return { id: variant.id, eligible: reason === undefined, ...(reason === undefined ? {} : { reason }) }
            }),
          catch: (error) => error,
        }).pipe(
          Effect.catch((error) =>
            error instanceof LimitReached ? Effect.fail(targetingLimit(view, error)) : Effect.die(error)
          ),
        )
        const { userId } = ask
        const eligible = variants.flatMap(({ eligible, id }) => eligible ? [id] : [])
        const about = userId === undefined ? { variants } : {
          variants,
          held_out: armOf(view.holdout, eligible, { org, userId, trackingId: "" }) === "control",
        }
        const stored = ask.copyId === undefined ? undefined : view.variantsById.get(ask.copyId)
        if (ask.copyId !== undefined && stored === undefined) return yield* new VariantNotFound({ id: ask.copyId })
        const written = stored?.written ?? stored
        const vars = ask.vars ?? written?.vars
        if (vars === undefined) return about
        const formats = ask.formats ?? written?.formats ?? {}
        const locales = (ask.vars === undefined ? written?.locales : ask.locales) ?? {}
        const inLocale = localeOf(view, { vars, locales }, ask)
        const [rendered] = yield* render(org, [{ vars, formats, locales, ...inLocale }], {
          fields: JSON.stringify({ unsubscribe_url: sampleUnsubscribeUrl, ...ask.fields }),
          strict: view.strict,
          timeZone: view.org.timeZone,
          check: ask.vars === undefined ? "stored" : "draft",
          showsBlocks: ask.showsBlocks ?? false,
        })
        if ("vars" in rendered!) {
          const { compiled, marked, missing, vars, warnings } = rendered
          const sizes = Object.keys(compiled).length === 0 ? {} : { compiled }
          const shown = inLocale === undefined ? {} : { locale: inLocale.shown, dir: directionOf(inLocale.shown) }
          const all = [...warnings, ...missingLocales(view, locales, vars)]
          return { ...about, vars, warnings: all, checks: channelChecks(vars), missing, marked, ...sizes, ...shown }
        }
        if (rendered!.stage === "source") return yield* new InvalidInput({ faults: atVariables(rendered!.faults) })
        return yield* new NotRendered({
          templateId: view.id,
          copyId: ask.copyId ?? "",
          faults: rendered!.faults.map(({ message, variable }) => ({ variable, detail: message })),
        })
      })

      return Previews.of({ preview, render })
    }),
  )
}
