import type { PageResults } from "../../../results/KeptResults.ts"
import { comparedIn, type TimedTemplateResults } from "../../../results/TemplateResults.ts"
import type { ChangeMark } from "../../../results/Marks.ts"
import { nameIn } from "../../../results/SendNothingText.ts"
import type { TemplateSeries } from "../../../results/TemplateSeries.ts"
import { nothing } from "../../../domain/SendNothing.ts"
import { t } from "../../../languages/Language.ts"
import { percent } from "../../Format.ts"
import { Fold } from "../../components/Fold.tsx"
import { PhoneFold } from "../../components/PhoneFold.tsx"
import { Time } from "../../components/Time.tsx"
import {
  BestOverTime,
  GainOverTime,
  RateOverTime,
  RevenueOverTime,
  ShareOverTime,
  type ShownResults,
} from "./Pictures.tsx"

/** Variants with a colour of their own. */
const mostDrawn = 5

/**
 * The variants to draw: first the variants that the first line compares, then the variants with most decisions. Their
 * order does not change while decisions are added.
 */
export const placesOf = (
  { variants, winner }: Pick<TimedTemplateResults, "variants" | "winner">,
): ReadonlyMap<string, number> => {
  const byDecisions = variants.filter(({ copy_id }) => copy_id !== nothing).toSorted((a, b) =>
    b.decisions - a.decisions || (a.copy_id < b.copy_id ? -1 : 1)
  )
  const drawn = new Set([...comparedIn({ variants, winner }), ...byDecisions.map(({ copy_id }) => copy_id)])
  return new Map([...drawn].slice(0, mostDrawn).sort().map((id, index) => [id, index]))
}

/** The shares of the expected outcomes that have arrived, such as `75 %` or `40 % to 75 %`. */
const incompleteShares = (open: TemplateSeries["points"]): string => {
  const least = percent(Math.min(...open.map(({ maturity }) => maturity)))
  const most = percent(Math.max(...open.map(({ maturity }) => maturity)))
  return least === most ? least : t`${least} to ${most}`
}

const Incomplete = ({ points, zone }: { readonly points: TemplateSeries["points"]; readonly zone: string }) => {
  const open = points.filter(({ complete }) => !complete)
  const first = open[0]
  return first === undefined ? null : (
    <p class="small muted">
      {t`Outcomes since ${<Time at={first.start} zone={zone} />} are incomplete (shaded in the charts): about ${
        incompleteShares(open)
      } have arrived
        so far. Rates allow for that.`}
    </p>
  )
}

/** Results as the charts show them. */
export const shownOf = (
  { found, over }: PageResults,
  zone: string,
  marks: ReadonlyArray<ChangeMark>,
): ShownResults => ({
  marks,
  results: found,
  series: over,
  places: placesOf(found),
  names: new Map(found.variants.map(({ copy_id }) => [copy_id as string, nameIn(found, copy_id)])),
  zone,
})

/** Whether rates are known over time. Net values are not, which can be negative. */
const hasRates = ({ send_nothing }: TimedTemplateResults): boolean => send_nothing === undefined

/** What changed, for people who cannot point at the charts. */
const Changes = ({ marks, zone }: { readonly marks: ReadonlyArray<ChangeMark>; readonly zone: string }) =>
  marks.length === 0 ? null : (
    <details class="changes" data-live="changes">
      <summary>{t`What changed (${marks.length}, dotted lines in the charts)`}</summary>
      <ul>
        {marks.toReversed().map(({ at, text }) => (
          <li>
            <Time at={new Date(at).toISOString()} zone={zone} /> <bdi>{text}</bdi>
          </li>
        ))}
      </ul>
    </details>
  )

/** How the rates and the traffic developed. */
export const OverTime = (shown: ShownResults) => {
  const { marks, places, results, series: { left_out: leftOut, points, variants }, zone } = shown
  return (
    <PhoneFold title={t`Rates and traffic over time`}>
      <div data-live="incomplete">
        <Incomplete points={points} zone={zone} />
      </div>
      <div class="charts">
        {hasRates(results) && <RateOverTime {...shown} />}
        {results.revenue !== null && <RevenueOverTime {...shown} />}
        <ShareOverTime {...shown} />
      </div>
      <Changes marks={marks} zone={zone} />
      {leftOut + Math.max(0, variants.length - places.size) > 0 && (
        <p class="small muted">
          {comparedIn(results).length === 0
            ? t`The charts show the ${places.size} variants with the most sends. The table of variants lists all.`
            : t`The charts show ${places.size} variants: the leader, the runner-up and those with the most sends. The table
              of variants lists all.`}
        </p>
      )}
    </PhoneFold>
  )
}

/** How the chance to be best and the lift developed, closed at first. */
export const MoreOverTime = (shown: ShownResults) => (
  <Fold
    title={t`More over time`}
    hint={hasRates(shown.results) ? t`Chance to be best, lift vs. random split` : t`Lift vs. random split`}
  >
    <div class="charts">
      {hasRates(shown.results) && <BestOverTime {...shown} />}
      <GainOverTime {...shown} />
    </div>
  </Fold>
)
