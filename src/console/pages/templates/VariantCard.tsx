import type { ComponentChildren } from "preact"
import type { Rendered, Sources } from "../../../checking/Checks.ts"
import { isHtml, type Variant } from "../../../domain/Template.ts"
import { t } from "../../../languages/Language.ts"
import { Badge } from "../../components/Badge.tsx"
import { conditionText } from "./Draft.ts"
import { counted, percent } from "../../Format.ts"
import { seasonText } from "./Words.ts"

/** Texts shown of one variant before its html. */
const shownTexts = 4
const shownConditions = 5

/** Characters shown of one text. */
export const maxCardText = 400

/** The variables of a variant whose texts its card shows, each by itself, so that a fault of one hides no other. */
export const cardSources = ({ formats, vars }: Variant): ReadonlyArray<Sources> =>
  Object.entries(vars).filter(([name]) => !isHtml(formats, name)).slice(0, shownTexts)
    .map(([name, source]) => ({ vars: { [name]: source }, formats: {} }))

/** A variant's texts for the sample fields, or the reason why they could not be rendered. */
const textsOf = (variant: Variant, rendered: ReadonlyArray<Rendered> | undefined) =>
  cardSources(variant).map(({ vars }, at) => {
    const [name = ""] = Object.keys(vars)
    const one = rendered?.[at]
    if (one === undefined) return { name, text: undefined, fault: undefined }
    return "vars" in one
      ? { name, text: one.vars[name]!, fault: undefined }
      : { name, text: "", fault: one.faults.map(({ message }) => message).join("; ") }
  })

const cut = (all: ReadonlyArray<string>) =>
  all.length > shownConditions ? [...all.slice(0, shownConditions), t`and ${all.length - shownConditions} more`] : all

/** A variant in the list of a template: its texts, its audience, its seasons and its share of traffic. */
export const VariantCard = (
  { actions, base, decisions, fieldsText, inSeason, rendered, share, variant }: {
    readonly variant: Variant
    /** Its `cardSources`, rendered. Undefined if the preview could not be made. */
    readonly rendered: ReadonlyArray<Rendered> | undefined
    /** The variant's own pages are below it. */
    readonly base: string
    readonly inSeason: boolean
    readonly fieldsText: string
    /** Recent decisions. `share`: share of all decisions of the template, in [0, 1]. Undefined without decisions. */
    readonly decisions: number
    readonly share: number | undefined
    readonly actions: ComponentChildren
  },
) => {
  const [html] = Object.keys(variant.vars).filter((name) => isHtml(variant.formats, name))
  const texts = textsOf(variant, rendered)
  return (
    <li class="card variant-card">
      <header>
        <div>
          <h3>
            <a href={base}>{variant.name}</a>
          </h3>
          <p class="small muted mono">{variant.id}</p>
          {variant.suggested !== undefined && <p class="small muted">{t`Suggested by ${variant.suggested.model}`}</p>}
        </div>
        {variant.active
          ? inSeason ? <Badge kind="good">{t`active`}</Badge> : <Badge kind="warn">{t`out of season`}</Badge>
          : <Badge>{t`inactive`}</Badge>}
      </header>
      <dl class="said">
        {texts.map(({ fault, name, text }) => (
          <div>
            <dt>{name}</dt>
            <dd>
              {fault !== undefined
                ? <span class="fault">{fault}</span>
                : text === undefined
                ? <span class="muted">{t`no preview`}</span>
                : text === ""
                ? <span class="muted">{t`empty`}</span>
                : text}
            </dd>
          </div>
        ))}
        {html !== undefined && (
          <div>
            <dt>{html}</dt>
            <dd>
              <iframe
                sandbox=""
                loading="lazy"
                title={t`${html} of ${variant.name}`}
                src={`${base}/message?${new URLSearchParams({ name: html, fields: fieldsText })}`}
              >
              </iframe>
            </dd>
          </div>
        )}
      </dl>
      <dl class="facts compact">
        <dt>{t`Audience`}</dt>
        <dd>
          {variant.targeting.length === 0
            ? t`everyone`
            : <ul class="plain-list">{cut(variant.targeting.map(conditionText)).map((text) => <li>{text}</li>)}</ul>}
        </dd>
        <dt>{t`Schedule`}</dt>
        <dd>
          {variant.seasons.length === 0
            ? t`always`
            : <ul class="plain-list">{cut(variant.seasons.map(seasonText)).map((text) => <li>{text}</li>)}</ul>}
        </dd>
        <dt>{t`Traffic`}</dt>
        <dd>
          {share === undefined ? <span class="muted">{t`no sends yet`}</span> : (
            <>
              {percent(share)}
              <span class="sub">{counted(decisions, "send")}</span>
              <svg class="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
                <rect class="none" width="100" height="4" rx="2" />
                <rect class="some" width={(share * 100).toFixed(1)} height="4" rx="2" />
              </svg>
            </>
          )}
        </dd>
      </dl>
      {actions}
    </li>
  )
}
