import { coverageText } from "../results/ObjectiveText.ts"
import type { TemplateSeries } from "../results/TemplateSeries.ts"
import { percent } from "./ResultsText.ts"
import { table } from "./Table.ts"

// Formats the results of a template over time for a terminal. Pure.

const date = (time: string) => `${time.slice(0, 10)} ${time.slice(11, 16)}`

const worth = (value: number) => `${value > 0 ? "+" : ""}${Math.abs(value) < 10 ? value.toFixed(1) : Math.round(value)}`

/** A row for each period: share of traffic, rate and probability to be best of each variant, and the gain. */
export const seriesText = (series: TemplateSeries): string => {
  const { left_out, objective, points, step, template_id, variants } = series
  if (points.length === 0) return `${template_id}: no decisions in this window.`
  const rate = (value: number) => typeof objective === "string" ? percent(value) : value.toPrecision(3)
  return [
    `${template_id} by ${step}, UTC. For each variant: share of traffic, rate, and probability of being best.`,
    "",
    table(
      ["until", "decisions", ...variants, "gain so far", "95 % interval"],
      points.map(({ complete, decisions, end, gain, variants }) => [
        `${date(end)}${complete ? "" : " *"}`,
        decisions,
        ...variants.map(({ p_best, rate: value, share }) =>
          `${share === null ? "–" : percent(share)} · ${
            value === null || p_best === null ? "no data" : `${rate(value)} · ${percent(p_best)}`
          }`
        ),
        gain === null ? "no data" : worth(gain.gained),
        gain === null ? "" : `${worth(gain.interval[0])} to ${worth(gain.interval[1])}`,
      ]),
    ),
    "",
    "The gain is the number of outcomes beyond the outcomes of a random split of the variants. 95 % intervals held the true " +
    `value ${coverageText}.`,
    ...(points.some(({ complete }) => !complete) ? ["* Outcomes are still coming in."] : []),
    ...(left_out > 0 ? [`${left_out} variants with fewer decisions are not shown.`] : []),
  ].join("\n")
}
