import { Effect } from "effect"
import type { Previews } from "../../../decide/Previews.ts"
import type { Attributes } from "../../../domain/Attributes.ts"
import { t } from "../../../languages/Language.ts"
import { Budget } from "../../../rendering/Budget.ts"
import { LimitReached } from "../../../rendering/LimitReached.ts"
import type { TemplateView } from "../../../templates/TemplateCache.ts"
import { conditionText } from "./Draft.ts"
import { inTime, NotPreviewed } from "./PreviewInTime.tsx"
import { Badge } from "../../components/Badge.tsx"

// Which of a template's variants the sample person can get, and why not the others.

/** Variants that are listed. */
const maxListed = 50

/** Variants whose subject is shown. */
const maxRendered = 20

/** A stored variant for the sample person. */
interface VariantMatch {
  readonly id: string
  /** Why the person cannot get it; undefined where they can. */
  readonly reason: string | undefined
  /** The rendered subject of a variant that the person can get; undefined where it cannot be rendered. */
  readonly subject: string | undefined
}

/** The reason why a variant is not for these attributes at this time; undefined when it is. */
const reasonOf = (
  { active, audience, calendar }: TemplateView["variants"][number],
  attrs: Attributes,
  now: number,
): string | undefined => {
  if (!active) return t`not active`
  try {
    const condition = audience.failing(attrs, new Budget())
    if (condition !== undefined) return t`not in its audience: ${conditionText(condition)}`
    return calendar.holds(now) ? undefined : t`out of season`
  } catch (error) {
    if (error instanceof LimitReached) return t`its audience takes too long to check`
    throw error
  }
}

/** The rendered subjects of variants by id, as far as they can be rendered in time. */
const subjectsOf = Effect.fnUntraced(function* (
  previews: Previews["Service"],
  view: TemplateView,
  subject: string,
  variants: TemplateView["variants"],
  fields: string,
) {
  const written = variants.filter(({ vars }) => Object.hasOwn(vars, subject)).slice(0, maxRendered)
  const rendered = yield* inTime(previews.render(
    view.org.slug,
    written.map(({ vars }) => ({ vars: { [subject]: vars[subject]! }, formats: {} })),
    { fields, strict: view.strict, timeZone: view.org.timeZone, maxText: 200 },
  ))
  if (rendered instanceof NotPreviewed) return new Map<string, string>()
  return new Map(written.flatMap(({ id }, at) => {
    const one = rendered[at]!
    return "vars" in one ? [[id, one.vars[subject]!] as const] : []
  }))
})

/**
 * The stored variants of a template for a person at a time (Unix milliseconds). They have no subjects without `subject`, the
 * variable of the subject, or if the subjects cannot be rendered in time.
 */
export const matchesOf = Effect.fnUntraced(function* (
  previews: Previews["Service"],
  view: TemplateView,
  subject: string | undefined,
  { attrs, fields, now }: {
    readonly attrs: Attributes
    readonly fields: Readonly<Record<string, unknown>>
    readonly now: number
  },
) {
  const listed = view.variants.slice(0, maxListed).map((variant) => ({
    variant,
    reason: reasonOf(variant, attrs, now),
  }))
  const subjects = subject === undefined ? new Map<string, string>() : yield* subjectsOf(
    previews,
    view,
    subject,
    listed.flatMap(({ reason, variant }) => reason === undefined ? [variant] : []),
    JSON.stringify(fields),
  )
  return listed.map(({ reason, variant }): VariantMatch => ({
    id: variant.id,
    reason,
    subject: subjects.get(variant.id),
  }))
})

/** The variants. Variants that the person can get come first. */
export const VariantMatches = ({ matches }: { readonly matches: ReadonlyArray<VariantMatch> }) => (
  <section class="audience" aria-label={t`Saved variants for this person`}>
    <h2>{t`Saved variants for this person`}</h2>
    <ul class="finding-list">
      {[...matches].sort((a, b) =>
        Number(a.reason !== undefined) - Number(b.reason !== undefined)
      ).map((one) => (
        <li key={one.id}>
          {one.reason === undefined ? <Badge kind="good">{t`match`}</Badge> : <Badge>{t`no match`}</Badge>}{" "}
          <b>{one.id}</b> {one.reason === undefined
            ? <span class="muted" dir="auto">{one.subject ?? ""}</span>
            : <span class="muted">{one.reason}</span>}
        </li>
      ))}
    </ul>
  </section>
)
