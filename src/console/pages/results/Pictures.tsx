import type { TimedTemplateResults } from "../../../results/TemplateResults.ts"
import type { ChangeMark } from "../../../results/Marks.ts"
import type { TemplateSeries } from "../../../results/TemplateSeries.ts"
import { Figure } from "../../charts/Figure.tsx"
import { dayNames, HeatTable, ShadeKey, WeekMap } from "../../charts/HeatMap.tsx"
import { axisTime, count, counted, percent, rateFormat, signedCount, signedPercent, weekday } from "../../Format.ts"
import { LineChart, ShareChart } from "../../charts/TimeChart.tsx"
import { list, segmentText } from "./Words.ts"
import { nothing } from "../../../domain/SendNothing.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { coverageText, objectiveText, rateDecimals, rateName, unitName } from "../../../results/ObjectiveText.ts"

/** The results that the pictures show. */
export interface ShownResults {
  readonly results: TimedTemplateResults
  readonly series: TemplateSeries
  /** Colour and dash of the variants that are drawn. */
  readonly places: ReadonlyMap<string, number>
  readonly names: ReadonlyMap<string, string>
  /** What changed, on the axis of time. */
  readonly marks: ReadonlyArray<ChangeMark>
  readonly zone: string
}

const capital = (text: string) => text[0]!.toUpperCase() + text.slice(1)

const timesOf = ({ points }: TemplateSeries) => points.map(({ end }) => Date.parse(end))

/** Labels each end of a step; a day is named by its last moment, not by the midnight after it. */
const clock = (zone: string, step: TemplateSeries["step"]) => {
  const format = axisTime(zone, step === "hour" ? "both" : "day")
  return (time: number) => format(step === "hour" ? time : time - 1)
}

/** Properties that all charts over time share. */
const overTime = ({ marks, series, zone }: ShownResults, id: string) => {
  const open = series.points.find(({ complete }) => !complete)
  return {
    labelledBy: `${id}-title`,
    times: timesOf(series),
    incompleteFrom: open === undefined ? undefined : Date.parse(open.start),
    marked: marks,
    formatTime: clock(zone, series.step),
  }
}

/** Texts about a period of a series. */
const ofStep = {
  hour: {
    heading: english("Hour"),
    upTo: english("Up to the end of the hour"),
    rates: english("The rates of each hour, with 95 % intervals as bands."),
    revenue: english("The revenue of the sends of each hour, as counted so far."),
    sends: english("The share of sends that each variant got in each hour."),
    messages: english("The share of messages that each variant got in each hour."),
    best: english("The probability that a variant has the highest rate of the hour."),
  },
  day: {
    heading: english("Day"),
    upTo: english("Up to the end of the day"),
    rates: english("The rates of each day, with 95 % intervals as bands."),
    revenue: english("The revenue of the sends of each day, as counted so far."),
    sends: english("The share of sends that each variant got in each day."),
    messages: english("The share of messages that each variant got in each day."),
    best: english("The probability that a variant has the highest rate of the day."),
  },
  week: {
    heading: english("Week"),
    upTo: english("Up to the end of the week"),
    rates: english("The rates of each week, with 95 % intervals as bands."),
    revenue: english("The revenue of the sends of each week, as counted so far."),
    sends: english("The share of sends that each variant got in each week."),
    messages: english("The share of messages that each variant got in each week."),
    best: english("The probability that a variant has the highest rate of the week."),
  },
} as const satisfies { readonly [step in TemplateSeries["step"]]: unknown }

const drawn = ({ names, places, series }: ShownResults) =>
  [...places].sort(([, a], [, b]) => a - b).flatMap(([id, place]) => {
    const at = series.variants.indexOf(id)
    return at < 0 ? [] : [{ id, at, series: place, name: names.get(id) ?? id }]
  })

/** Rates with their bands. */
export const RateOverTime = (shown: ShownResults) => {
  const { results: { objective }, series } = shown
  const lines = drawn(shown)
  const last = series.points.at(-1)!
  const inPercent = typeof objective === "string"
  const largest = Math.max(0, ...lines.map(({ at }) => last.variants[at]!.rate ?? 0))
  const rate = rateFormat(inPercent, largest)
  const texts = ofStep[series.step]
  const time = clock(shown.zone, series.step)
  return (
    <Figure
      id="rate"
      title={t`${capital(rateName(objective))} over time`}
      caption={`${translated(texts.rates)} ${t`A variant is clearly better where the bands do not overlap.`}`}
      headings={[translated(texts.heading), ...lines.map(({ name }) => name)]}
      rows={series.points.toReversed().map(({ end, variants }) => [
        time(Date.parse(end)),
        ...lines.map(({ at }) => {
          const { interval, rate: value } = variants[at]!
          if (value === null || interval === null) return t`no data`
          return t`${rate(value)} (${rate(interval[0])} to ${rate(interval[1])})`
        }),
      ])}
    >
      <LineChart
        {...overTime(shown, "rate")}
        format={{ unit: inPercent ? "percent" : "number", decimals: rateDecimals(inPercent, largest) }}
        formatValue={rate}
        lines={lines.map(({ at, name, series: place }) => ({
          series: place,
          name,
          values: series.points.map(({ variants }) => variants[at]!.rate),
          bands: series.points.map(({ variants }) => variants[at]!.interval),
        }))}
      />
    </Figure>
  )
}

/** The revenue of each period. */
export const RevenueOverTime = (shown: ShownResults) => {
  const { series } = shown
  const lines = [
    ...drawn(shown).map(({ at, name, series: place }) => ({
      series: place,
      name,
      values: series.points.map(({ variants }) => variants[at]!.revenue ?? 0),
    })),
    {
      series: 5,
      name: t`All variants`,
      values: series.points.map(({ variants }) => variants.reduce((sum, { revenue = 0 }) => sum + revenue, 0)),
    },
  ]
  const texts = ofStep[series.step]
  const time = clock(shown.zone, series.step)
  return (
    <Figure
      id="revenue"
      title={t`Revenue`}
      caption={`${
        translated(texts.revenue)
      } ${t`A variant with more traffic has more revenue: compare variants by the revenue
        per send.`}`}
      headings={[translated(texts.heading), ...lines.map(({ name }) => name)]}
      rows={series.points.map(({ end }, i) => [
        time(Date.parse(end)),
        ...lines.map(({ values }) => count(values[i]!)),
      ]).toReversed()}
    >
      <LineChart
        {...overTime(shown, "revenue")}
        certain
        range={[0, 0]}
        format={{ unit: "number", decimals: 0 }}
        formatValue={count}
        lines={lines}
      />
    </Figure>
  )
}

/** How the traffic was shared out. */
export const ShareOverTime = (shown: ShownResults) => {
  const { series } = shown
  const lines = drawn(shown)
  const rest = (point: TemplateSeries["points"][number]) =>
    1 - lines.reduce((sum, { at }) => sum + (point.variants[at]!.share ?? 0), 0)
  const withRest = series.points.some((point) => point.decisions > 0 && rest(point) > 0.005)
  const time = clock(shown.zone, series.step)
  // Series leave out decisions to send nothing.
  const areMessages = shown.results.variants.some(({ copy_id }) => copy_id === nothing)
  const texts = ofStep[series.step]
  return (
    <Figure
      id="share"
      title={t`Traffic share`}
      caption={`${translated(areMessages ? texts.messages : texts.sends)} ${t`Better variants get more traffic; a small
        share stays randomly split, so that changes are noticed.`}`}
      headings={[
        translated(texts.heading),
        areMessages ? t`Messages` : t`Sends`,
        ...lines.map(({ name }) => name),
        ...(withRest ? [t`Others`] : []),
      ]}
      rows={series.points.toReversed().map((point) => [
        time(Date.parse(point.end)),
        count(point.decisions),
        ...lines.map(({ at }) => point.variants[at]!.share === null ? "–" : percent(point.variants[at]!.share)),
        ...(withRest ? [point.decisions > 0 ? percent(Math.max(0, rest(point))) : "–"] : []),
      ])}
    >
      <ShareChart
        {...overTime(shown, "share")}
        format={{ unit: "percent", decimals: 1 }}
        incompleteFrom={undefined}
        lines={[
          ...lines.map(({ at, name, series: place }) => ({
            series: place,
            name,
            values: series.points.map(({ variants }) => variants[at]!.share),
          })),
          ...(withRest
            ? [{
              series: 5,
              name: t`Others`,
              values: series.points.map((point) => point.decisions > 0 ? Math.max(0, rest(point)) : null),
            }]
            : []),
        ]}
      />
    </Figure>
  )
}

/** Who was probably the best, as it was found out. */
export const BestOverTime = (shown: ShownResults) => {
  const { series } = shown
  const lines = drawn(shown)
  const texts = ofStep[series.step]
  const time = clock(shown.zone, series.step)
  return (
    <Figure
      id="best"
      title={t`Probability of being best`}
      caption={`${
        translated(texts.best)
      } ${t`The table of variants shows the probability for the days of the results.`}`}
      headings={[translated(texts.heading), ...lines.map(({ name }) => name)]}
      rows={series.points.toReversed().map(({ end, variants }) => [
        time(Date.parse(end)),
        ...lines.map(({ at }) => variants[at]!.p_best === null ? t`no data` : percent(variants[at]!.p_best)),
      ])}
    >
      <LineChart
        {...overTime(shown, "best")}
        format={{ unit: "percent", decimals: 1 }}
        range={[0, 1]}
        formatValue={(value) => percent(value)}
        lines={lines.map(({ at, name, series: place }) => ({
          series: place,
          name,
          values: series.points.map(({ variants }) => variants[at]!.p_best),
        }))}
      />
    </Figure>
  )
}

/** One sentence about the lift over a random split. */
const gainSentence = ({ objective, points }: Pick<TemplateSeries, "objective" | "points">): string => {
  const gain = points.at(-1)?.gain
  if (gain === undefined || gain === null || gain.even <= 0) {
    return t`There are not enough outcomes to estimate the lift.`
  }
  const what = unitName(objective)
  const [low, high] = gain.interval
  const range = t`95\u00a0% interval ${signedCount(low)} to ${signedCount(high)}`
  const share = signedPercent(gain.gained / gain.even)
  return low > 0
    ? t`${signedCount(gain.gained)} ${what} more than a random split would have brought (${share}; ${range}).`
      .replace("+", "")
    : t`About as many ${what} as a random split would have brought: ${signedCount(gain.gained)} (${share}; ${range}).`
}

/** The gain over a random split with its interval. */
export const GainOverTime = (shown: ShownResults) => {
  const { series } = shown
  const time = clock(shown.zone, series.step)
  return (
    <Figure
      id="gain"
      title={t`Lift vs. random split`}
      lead={<p class="headline">{gainSentence(series)}</p>}
      caption={[
        series.by_segment
          ? t`Estimated ${
            objectiveText(series.objective)
          } gained since the start of the window compared with a random split of the variants, segment by segment.`
          : t`Estimated ${
            objectiveText(series.objective)
          } gained since the start of the window compared with a random split of the variants.`,
        t`Above 0, personalization pays off. The band held the true gain ${
          translated(coverageText)
        }. Variants with little data are assumed to be close to the others.`,
      ].join(" ")}
      headings={[translated(ofStep[series.step].upTo), t`Gained`, t`95 % interval`, t`Random split`]}
      rows={series.points.toReversed().map(({ end, gain }) => [
        time(Date.parse(end)),
        ...(gain === null ? [t`no data`, "–", "–"] : [
          signedCount(gain.gained),
          t`${signedCount(gain.interval[0])} to ${signedCount(gain.interval[1])}`,
          count(gain.even),
        ]),
      ])}
    >
      <LineChart
        {...overTime(shown, "gain")}
        format={{ unit: "number", decimals: 0 }}
        zero
        range={[0, 0]}
        formatValue={(value) => value < 0 ? `−${count(-value)}` : count(value)}
        lines={[{
          series: 0,
          name: t`Gained`,
          values: series.points.map(({ gain }) => gain?.gained ?? null),
          bands: series.points.map(({ gain }) => gain?.interval ?? null),
        }]}
      />
    </Figure>
  )
}

/** Segments in the table, so that the page stays short. */
const shownSegments = 8

/** Segments against variants. */
export const Segments = (
  { names, results: { objective, segments, variants } }: Pick<ShownResults, "names" | "results">,
) => {
  const running = variants.filter(({ status }) => status === "active").toSorted((a, b) =>
    (b.rate ?? -1) - (a.rate ?? -1)
  ).slice(0, 12)
  const shown = segments.slice(0, shownSegments)
  const rates = shown.flatMap((part) => part.variants.flatMap(({ rate }) => rate === null ? [] : [rate]))
  const [low, high] = rates.length === 0 ? [0, 0] : [Math.min(...rates), Math.max(...rates)]
  const rate = rateFormat(typeof objective === "string", high)
  return (
    <section class="card chart" id="segments" aria-labelledby="segments-title">
      <h2 id="segments-title">{t`Segments`}</h2>
      <div class="stack" data-live="segments-picture">
        <p class="caption">
          {t`${
            capital(rateName(objective))
          } of each variant by attribute value, as estimated by the model. The best of each row is
            bold, with its probability of being best. Stronger colours are higher rates.`}
        </p>
        <HeatTable
          caption={t`${capital(rateName(objective))} by segment and variant`}
          headings={[t`Segment`, ...running.map(({ copy_id }) => names.get(copy_id) ?? copy_id)]}
          rows={shown.map(({ decisions, segment, variants }) => {
            const byId = new Map(variants.map((one) => [one.copy_id, one]))
            const best = running.map(({ copy_id }) => byId.get(copy_id)!).filter((one) =>
              one !== undefined && one.rate !== null
            )
              .sort((a, b) => b.rate! - a.rate!)[0]
            return {
              heading: (
                <>
                  {segmentText(segment)}
                  <span class="sub">{counted(decisions, "send")}</span>
                </>
              ),
              cells: [
                ...running.map(({ copy_id }) => {
                  const one = byId.get(copy_id)
                  return one === undefined ? undefined : {
                    text: (
                      <>
                        {one.rate === null ? t`no data` : rate(one.rate)}
                        {one === best && one.p_best !== null && (
                          <span class="sub">{t`best ${percent(one.p_best)}`}</span>
                        )}
                      </>
                    ),
                    share: one.rate === null ? 0 : high > low ? 0.1 + 0.9 * (one.rate - low) / (high - low) : 0.5,
                    marked: one === best,
                  }
                }),
              ],
            }
          })}
        />
        {rates.length !== 0 && <ShadeKey from={rate(low)} to={rate(high)} />}
        {segments.length > shown.length && (
          <p class="small muted">{t`${segments.length - shown.length} segments with fewer sends are not shown.`}</p>
        )}
      </div>
    </section>
  )
}

/** When people engage. */
export const Hours = ({ series: { hours }, zone }: Pick<ShownResults, "series" | "zone">) => {
  const values = new Array<number>(168).fill(0)
  for (const { day, engagements, hour } of hours) values[(day - 1) * 24 + hour] = engagements
  const most = Math.max(...values)
  const busiest = hours.toSorted((a, b) => b.engagements - a.engagements).slice(0, 3)
  return (
    <Figure
      id="hours"
      title={t`When people engage`}
      caption={t`Opens, clicks and conversions of the last 30 days by hour of the week (${zone}). Most at ${
        list(busiest.map(({ day, hour }) => `${weekday(day - 1)} ${hour}:00`))
      }.`}
      headings={[t`Hour`, ...dayNames()]}
      rows={Array.from({ length: 24 }, (_, hour) => [
        `${hour}:00`,
        ...dayNames().map((_, day) => count(values[day * 24 + hour]!)),
      ])}
    >
      <WeekMap
        labelledBy="hours-title"
        cells={values.map((value) => ({ share: most > 0 ? value / most : 0, text: t`${count(value)} engagements` }))}
      />
      <ShadeKey from={t`fewer`} to={t`${count(most)} in an hour`} />
    </Figure>
  )
}
