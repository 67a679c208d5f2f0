// deno-lint-ignore-file jsx-key -- rendered once, on the server
/** @jsxImportSource preact */
import type { OutcomeCounts, TimedTemplateResults, VariantStatus } from "../../../results/TemplateResults.ts"
import { Swatch } from "../../charts/Figure.tsx"
import { IntervalBar } from "../../charts/IntervalBar.tsx"
import { count, percent, rateFormat } from "../../Format.ts"
import { Badge } from "../../components/Badge.tsx"
import { Table } from "../../components/Table.tsx"
import { list } from "./Words.ts"
import { coverageText, objectiveText, otherCurrencyText, rateName } from "../../../results/ObjectiveText.ts"

const statuses: { readonly [status in VariantStatus]: string | undefined } = {
  active: undefined,
  out_of_season: "out of season",
  stopped: "stopped",
  removed: "removed",
}

const shown: ReadonlyArray<readonly [keyof OutcomeCounts, string]> = [
  ["sent", "Sent"],
  ["delivered", "Delivered"],
  ["open", "Opens"],
  ["click", "Clicks"],
  ["other", "Other"],
  ["conversion", "Conversions"],
  ["negative", "Negative"],
]

const always: ReadonlyArray<keyof OutcomeCounts> = ["sent", "delivered", "open", "click", "conversion", "negative"]

/** How each variant does: what the model makes of it first, the counts after. */
export const Variants = ({ results, series }: {
  readonly results: TimedTemplateResults
  /** Colour and dash of each variant in the charts. */
  readonly series: ReadonlyMap<string, number>
}) => {
  const { objective, variants } = results
  const sorted = [...variants].sort((a, b) =>
    Number(b.status === "active") - Number(a.status === "active") || (b.rate ?? -1) - (a.rate ?? -1) ||
    (a.copy_id < b.copy_id ? -1 : 1)
  )
  const intervals = sorted.flatMap(({ interval }) => interval === null ? [] : [interval])
  const scale = [
    Math.min(...intervals.map(([low]) => low)),
    Math.max(...intervals.map(([, high]) => high)),
  ] as const
  const rate = rateFormat(typeof objective === "string", Math.max(0, ...sorted.map((one) => one.rate ?? 0)))
  const outcomes = shown.filter(([name]) => always.includes(name) || sorted.some((one) => one.outcomes[name] > 0))
  const machines = (["open", "click", "other"] as const).flatMap((name) =>
    results.automated[name] > 0
      ? [`${count(results.automated[name])} ${name === "other" ? "other events" : `${name}s`}`]
      : []
  )
  const name = rateName(objective)
  return (
    <>
      <Table
        caption="Variants"
        headings={[
          "Variant",
          `${name[0]!.toUpperCase()}${name.slice(1)}`,
          "95 % interval",
          "Chance to be best",
          "Risk if shipped",
          "Current traffic",
          "Decisions",
          ...outcomes.map(([, heading]) => heading),
          ...(results.revenue === null ? [] : ["Revenue"]),
          "Raw rate",
          "By machines",
        ]}
        rows={sorted.map((one) => [
          <span class="variant-name">
            <span>
              {series.has(one.copy_id) ? <Swatch series={series.get(one.copy_id)!} /> : null} {one.name}
              {statuses[one.status] === undefined ? null : (
                <>
                  <Badge>{statuses[one.status]}</Badge>
                </>
              )}
              {results.winner.copy_id === one.copy_id
                ? (
                  <>
                    <Badge kind="good">winner</Badge>
                  </>
                )
                : null}
            </span>
            {one.name === one.copy_id ? null : <span class="sub">{one.copy_id}</span>}
          </span>,
          one.rate === null ? <span class="muted">no data</span> : <b class="number">{rate(one.rate)}</b>,
          one.rate === null || one.interval === null ? "–" : (
            <span class="with-bar">
              <IntervalBar
                interval={one.interval}
                rate={one.rate}
                scale={scale}
                series={series.get(one.copy_id) ?? 5}
              />
              <span class="sub number">{rate(one.interval[0])} to {rate(one.interval[1])}</span>
            </span>
          ),
          number(one.p_best === null ? "–" : percent(one.p_best)),
          number(one.expected_loss === null ? "–" : percent(one.expected_loss)),
          number(one.status === "active" ? percent(one.share) : "–"),
          number(count(one.decisions)),
          ...outcomes.map(([name]) => number(count(one.outcomes[name]))),
          ...(results.revenue === null ? [] : [number(one.revenue === null ? "–" : one.revenue.value.toFixed(2))]),
          number(one.raw_rate === null ? "–" : rate(one.raw_rate)),
          number(count(one.automated.open + one.automated.click + one.automated.other)),
        ])}
      />
      <div class="small muted notes">
        <p>
          Rates are {objectiveText(objective)}{" "}
          per decision{results.voided > 0 ? `, ${count(results.voided)} that bounced or failed left out` : ""}. The
          model's rate allows for outcomes that are still expected and for differences in who saw which variant; the raw
          rate does not. Intervals hold the true rate in{" "}
          {coverageText(objective)}. Opens and clicks of machines, such as mail proxies and link scanners, are counted
          separately and ignored by the model{machines.length > 0 ? `: ${list(machines)}` : ""}.
          {results.forced.decisions > 0
            ? ` ${
              count(results.forced.decisions)
            } decisions with a variant fixed by the request or a holdout are not in the table.`
            : ""}
          {otherCurrencyText(results.revenue?.other_currency ?? 0).map((text) => ` ${text}`)}
        </p>
      </div>
    </>
  )
}

const number = (text: string) => ({ content: <span class="number">{text}</span>, kind: "nowrap" as const })
