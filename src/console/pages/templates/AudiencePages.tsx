import { Clock, Effect } from "effect"
import type { Variant } from "../../../domain/Template.ts"
import { t } from "../../../languages/Language.ts"
import { Traffic, trafficDays } from "../../../results/Traffic.ts"
import * as Seasonality from "../../../templates/Seasonality.ts"
import { Templates } from "../../../templates/Templates.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { Facts } from "../../components/Facts.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Table } from "../../components/Table.tsx"
import { counted, percent } from "../../Format.ts"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Visit } from "../../Routes.tsx"
import { conditionText } from "./Draft.ts"
import { templatePath, variantPath } from "./Paths.ts"
import { seasonText, settingFacts } from "./Words.ts"

const shownConditions = 8

const Texts = ({ none, texts }: { readonly none: string; readonly texts: ReadonlyArray<string> }) =>
  texts.length === 0 ? <span class="muted">{none}</span> : (
    <ul class="plain-list">
      {texts.slice(0, shownConditions).map((text) => <li dir="auto">{text}</li>)}
      {texts.length > shownConditions && <li>{t`and ${texts.length - shownConditions} more`}</li>}
    </ul>
  )

const State = ({ inSeason, variant }: { readonly variant: Pick<Variant, "active">; readonly inSeason: boolean }) =>
  !variant.active
    ? <Badge>{t`inactive`}</Badge>
    : inSeason
    ? <Badge kind="good">{t`active`}</Badge>
    : <Badge kind="warn">{t`out of season`}</Badge>

const show = Effect.fnUntraced(function* ({ can, org, params }: Visit) {
  const template = yield* (yield* Templates).outline(org.slug, params["template"] ?? "")
  const now = yield* Clock.currentTimeMillis
  const decisions = yield* (yield* Traffic).byVariant(org.slug, template.id)
  const all = [...decisions.values()].reduce((sum, count) => sum + count, 0)
  return view(
    {
      title: t`${template.name} · Audience`,
      back: { href: templatePath(org.slug, template.id), label: template.name },
      lead: t`Which people each variant is for and when. A person can get a variant if all conditions of its
        audience match.`,
    },
    <Card>
      <Facts rows={settingFacts(template, ["holdout", "sticky_hours", "ignore_unsubscribes"])} />
    </Card>,
    <Card kind="flush">
      {template.variants.length === 0
        ? <Empty title={t`No variants yet`}>{t`The audience and schedule of each variant are shown here.`}</Empty>
        : (
          <Table
            cards="labelled"
            caption={counted(template.variants.length, "variant")}
            headings={[t`Variant`, t`State`, t`Audience`, t`Schedule`, t`Traffic, ${trafficDays} days`]}
            rows={template.variants.map((variant) => [
              <a
                href={variantPath(org.slug, template.id, variant.id)}
                aria-label={can("updateVariant") ? t`Edit ${variant.name}` : t`Open ${variant.name}`}
                dir="auto"
              >
                {variant.name}
              </a>,
              <State variant={variant} inSeason={Seasonality.compile(variant.seasons, org.time_zone).holds(now)} />,
              <Texts none={t`everyone`} texts={variant.targeting.map(conditionText)} />,
              <Texts none={t`always`} texts={variant.seasons.map(seasonText)} />,
              all === 0
                ? <span class="muted">{t`no sends yet`}</span>
                : percent((decisions.get(variant.id) ?? 0) / all),
            ])}
          />
        )}
    </Card>,
  )
})

/** Who gets which variant of a template, and when. */
export const layer = pages(({ page }) => [page("/console/o/:org/templates/:template/audience", "getTemplate", show)])
