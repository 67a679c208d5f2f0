import type { ComponentChildren } from "preact"
import type { TemplateResults, VariantResults, VariantStatus } from "../../../results/TemplateResults.ts"
import { Swatch } from "../../charts/Figure.tsx"
import { IntervalBar } from "../../charts/IntervalBar.tsx"
import { count, decimals, percent, rateFormat } from "../../Format.ts"
import { Badge } from "../../components/Badge.tsx"
import { PhoneFold } from "../../components/PhoneFold.tsx"
import { Form, Submit } from "../../components/Form.tsx"
import { ListForm, ListPages, sortHeading } from "../../components/ListParts.tsx"
import { type Cell, Table } from "../../components/Table.tsx"
import { listQueryIn, type ListShape, pageOf, queryOf } from "../../../domain/List.ts"
import { clickReason, clickReasons } from "../../../domain/ClickReasons.ts"
import { candidateName, nothing } from "../../../domain/SendNothing.ts"
import { columnEvents, eventKinds } from "../../../domain/EventKinds.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { allColumns, type Column, columnNames } from "./Columns.ts"
import { isPersonal, list } from "./Words.ts"
import { nameIn, sendNothingText } from "../../../results/SendNothingText.ts"
import { setAsideText } from "../../../results/SetAsideText.ts"
import { movedText, objectiveText, otherCurrencyText, rateName } from "../../../results/ObjectiveText.ts"

const statuses: { readonly [status in VariantStatus]: string | undefined } = {
  active: undefined,
  out_of_season: english("out of season"),
  stopped: english("inactive"),
  removed: english("removed"),
}

const outcomeColumns = [...columnEvents, "negative"] as const
const isOutcome = (column: Column): column is typeof outcomeColumns[number] =>
  (outcomeColumns as ReadonlyArray<Column>).includes(column)

const number = (text: string) => ({ content: <span class="number">{text}</span>, kind: "nowrap" as const })

/** Id of the note on events of machines. */
const machinesNote = "by-machines"

/** A count with the events of machines, which do not count, and with its share of the decisions that can have an outcome. */
const withRate = (outcomes: number, machines: number, { decisions, voided }: VariantResults) => ({
  content: (
    <span class="number">
      {count(outcomes)}
      {machines > 0 && (
        <span class="sub machines">
          (<a href={`#${machinesNote}`}>{t`+${count(machines)} by machines`}</a>)
        </span>
      )}
      {decisions > voided && <span class="sub">{percent(outcomes / (decisions - voided))}</span>}
    </span>
  ),
  kind: "nowrap" as const,
})

/** Variants on one page of the table. */
const pageSize = 10

/** The table as a list that can be searched, sorted and paged. */
const shape: ListShape<VariantResults> = {
  idOf: ({ copy_id }) => copy_id,
  textsOf: ({ copy_id, name }) => [name, copy_id],
  filters: {
    status: {
      label: english("State"),
      options: [["active", english("Active")], ["stopped", english("Inactive")], [
        "out_of_season",
        english("Out of season"),
      ]],
      matches: ({ status }, value) => status === value,
    },
  },
  sorts: {
    // Active variants first, by rate. Rates of a goal with costs can be below 0.
    rank: {
      label: english("Rank"),
      descending: true,
      valueOf: ({ rate, status }) => status === "active" ? rate ?? -1e6 : (rate ?? -1e6) - 1e9,
    },
    name: { label: english("Variant"), descending: false, valueOf: ({ name }) => name },
    rate: { label: english("Rate"), descending: true, valueOf: ({ rate }) => rate },
    best: { label: columnNames.best, descending: true, valueOf: ({ p_best }) => p_best },
    risk: { label: columnNames.risk, descending: false, valueOf: ({ expected_loss }) => expected_loss },
    traffic: { label: columnNames.traffic, descending: true, valueOf: ({ share }) => share },
    decisions: { label: columnNames.decisions, descending: true, valueOf: ({ decisions }) => decisions },
    open: { label: columnNames.open, descending: true, valueOf: ({ outcomes }) => outcomes.open },
    click: { label: columnNames.click, descending: true, valueOf: ({ outcomes }) => outcomes.click },
    conversion: { label: columnNames.conversion, descending: true, valueOf: ({ outcomes }) => outcomes.conversion },
    negative: { label: columnNames.negative, descending: true, valueOf: ({ outcomes }) => outcomes.negative },
    revenue: { label: columnNames.revenue, descending: true, valueOf: ({ revenue }) => revenue?.value ?? null },
    raw: { label: columnNames.raw, descending: true, valueOf: ({ raw_rate }) => raw_rate },
  },
  sort: "rank",
}

/** Active variants first, by rate. */
export const sortedVariants = (variants: ReadonlyArray<VariantResults>): ReadonlyArray<VariantResults> =>
  variants.toSorted((a, b) =>
    Number(b.status === "active") - Number(a.status === "active") || (b.rate ?? -1e6) - (a.rate ?? -1e6) ||
    (a.copy_id < b.copy_id ? -1 : 1)
  )

const NameCell = ({ leads, loses, one, series, wins }: {
  readonly one: VariantResults
  readonly series: number | undefined
  readonly wins: boolean
  readonly leads: boolean
  readonly loses: boolean
}) => (
  <span class="variant-name">
    <span>
      {series !== undefined && <Swatch series={series} />}{" "}
      <bdi>{one.copy_id === nothing ? candidateName(nothing) : one.name}</bdi>
      {statuses[one.status] !== undefined && <Badge>{translated(statuses[one.status]!)}</Badge>}
      {wins ? <Badge kind="good">{t`winner`}</Badge> : leads ? <Badge kind="accent">{t`leads`}</Badge> : null}
      {loses && <Badge kind="warn">{t`surely worse`}</Badge>}
    </span>
    {one.name !== one.copy_id && one.copy_id !== nothing && <span class="sub" dir="auto">{one.copy_id}</span>}
  </span>
)

/** The cells of a column by variant. */
const cellsOf = (results: TemplateResults, sorted: ReadonlyArray<VariantResults>) => {
  const intervals = sorted.flatMap(({ interval }) => interval === null ? [] : [interval])
  const scale = [Math.min(...intervals.map(([low]) => low)), Math.max(...intervals.map(([, high]) => high))] as const
  const rate = rateFormat(
    typeof results.objective === "string",
    Math.max(0, ...sorted.map((one) => Math.abs(one.rate ?? one.raw_rate ?? 0))),
  )
  return (column: Column, one: VariantResults, series: number): Cell | ComponentChildren => {
    if (isOutcome(column)) return withRate(one.outcomes[column], one.automated[column], one)
    switch (column) {
      case "rate":
        return one.rate === null ? <span class="muted">{t`no data`}</span> : (
          <>
            <b class="number">{rate(one.rate)}</b>
            {one.change != null && <Badge kind="warn">{movedText(one.change)}</Badge>}
          </>
        )
      case "interval":
        return one.rate === null || one.interval === null ? "–" : (
          <span class="with-bar">
            <IntervalBar interval={one.interval} rate={one.rate} scale={scale} series={series} />
            <span class="sub number">{t`${rate(one.interval[0])} to ${rate(one.interval[1])}`}</span>
          </span>
        )
      case "best":
        return number(one.p_best === null ? "–" : percent(one.p_best))
      case "risk":
        return number(one.expected_loss === null ? "–" : percent(one.expected_loss))
      case "traffic":
        return number(one.status === "active" ? percent(one.share) : "–")
      case "decisions":
        return number(count(one.decisions))
      case "revenue":
        return number(one.revenue === null ? "–" : decimals(one.revenue.value, 2))
      case "raw":
        return number(one.raw_rate === null ? "–" : rate(one.raw_rate))
      case "machines":
        return number(count(one.automated.open + one.automated.click + one.automated.other))
    }
  }
}

/** The rules by which clicks were set aside as clicks of machines, in sentences. Empty without such clicks. */
const ruleText = (reasons: TemplateResults["set_aside"]["reasons"]): string =>
  clickReasons.filter((reason) => reasons[reason] > 0).map((reason) => ` ${translated(clickReason[reason].rule)}.`)
    .join("")

/** How each variant does, in the chosen columns. */
export const Variants = ({ columns, place, results, series }: {
  readonly columns: ReadonlyArray<Column>
  readonly results: TemplateResults
  /** Colour and dash of each variant in the charts. */
  readonly series: ReadonlyMap<string, number>
  /** The path of the page, and its query. */
  readonly place: { readonly path: string; readonly query: URLSearchParams }
}) => {
  const { objective, winner } = results
  const sorted = sortedVariants(results.variants)
  const shown = columns.filter((column) => column !== "revenue" || results.revenue !== null)
  const cell = cellsOf(results, sorted)
  const listQuery = listQueryIn(shape, place.query)
  const page = pageOf(shape, results.variants, listQuery, pageSize)
  // The window and the segment stay as they are, and the token of a shared page.
  const more = Object.fromEntries(
    ["lookback_days", "offset_days", "segment", "token"].flatMap((key) => {
      const value = place.query.getAll(key).join("&")
      return value === "" ? [] : [[key, value]]
    }),
  )
  const heading = (column: Column | "name", label: string) => {
    if (!Object.hasOwn(shape.sorts, column)) return label
    const sort = sortHeading(shape, listQuery, { all: results.variants.length, at: place.path, more, name: column })
    return typeof sort === "string" ? label : { ...sort, label }
  }
  const losers = new Set(winner.losers)
  const name = rateName(objective)
  const machines = columnEvents.flatMap((event) =>
    eventKinds[event].category === "engagement" && results.automated[event] > 0
      ? [`${count(results.automated[event])} ${translated(eventKinds[event].words.many)}`]
      : []
  )
  const unsent = sendNothingText(results, { nameOf: (id) => nameIn(results, id), percent })
  const setAside = setAsideText(results, { count, list, percent })
  return (
    <>
      <ListForm
        all={results.variants.length}
        listQuery={listQuery}
        at={place.path}
        start={`${place.path}${queryOf(shape, { ...listQuery, search: "", filters: {} }, { more })}`}
        label={t`Search variants`}
        placeholder={t`Name or id`}
        shape={shape}
      >
        {Object.entries(more).map(([key, value]) => <input type="hidden" name={key} value={value} />)}
      </ListForm>
      <Table
        cards="tiles"
        first={2}
        caption={t`Variants`}
        headings={[
          heading("name", t`Variant`),
          ...shown.map((column) =>
            heading(
              column,
              column === "rate" ? name[0]!.toUpperCase() + name.slice(1) : translated(columnNames[column]),
            )
          ),
        ]}
        rows={page.rows.map((one) => [
          <NameCell
            one={one}
            series={series.get(one.copy_id)}
            wins={!isPersonal(results) && winner.copy_id === one.copy_id}
            leads={winner.leader === one.copy_id && sorted.length > 1}
            loses={losers.has(one.copy_id)}
          />,
          ...shown.map((column) => cell(column, one, series.get(one.copy_id) ?? 5)),
        ])}
      />
      <ListPages
        listQuery={listQuery}
        at={place.path}
        label={t`Pages of variants`}
        more={more}
        page={page}
        shape={shape}
      />
      <PhoneFold title={t`About these rates`}>
        <div class="small muted notes">
          <p>
            {[
              results.voided > 0
                ? t`Rates are ${objectiveText(objective)} per send, ${
                  count(results.voided)
                } that bounced or failed left out.`
                : t`Rates are ${objectiveText(objective)} per send.`,
              t`The model's rate allows for outcomes that are still expected and for differences in who saw which variant;
                the raw rate does not.`,
              ...(unsent === undefined ? [] : [unsent]),
              t`Intervals are about these days, not about later ones.`,
              ...(results.forced.decisions > 0
                ? [t`${count(results.forced.decisions)} sends are not in the table: the request or a holdout fixed the
                  variant, or it replaced one that could not be rendered.`]
                : []),
              ...otherCurrencyText(results.revenue?.other_currency ?? 0),
            ].join(" ")}
          </p>
          <p id={machinesNote}>
            {machines.length > 0
              ? t`Opens and clicks of machines, such as mail proxies and link scanners, are counted separately and ignored
                by the model: ${list(machines)}.`
              : t`Opens and clicks of machines, such as mail proxies and link scanners, are counted separately and ignored
                by the model.`}
            {setAside === undefined ? "" : ` ${setAside}.`}
            {ruleText(results.set_aside.reasons)}
          </p>
        </div>
      </PhoneFold>
    </>
  )
}

/** The form that chooses the columns of the table; kept for a year. */
export const ColumnChoice = ({ action, back, columns }: {
  readonly action: string
  /** Where to go after that. */
  readonly back: string
  readonly columns: ReadonlyArray<Column>
}) => (
  <details class="columns">
    <summary>{t`Columns`}</summary>
    <Form action={action}>
      <input type="hidden" name="back" value={back} />
      <fieldset>
        <legend class="visually-hidden">{t`Columns of the table`}</legend>
        {allColumns.map((column) => (
          <label class="check">
            <input type="checkbox" name="columns" value={column} checked={columns.includes(column)} />
            {translated(columnNames[column])}
          </label>
        ))}
      </fieldset>
      <div class="buttons">
        <Submit>{t`Show these columns`}</Submit>
        <button type="submit" class="button" name="reset" value="true">{t`Default columns`}</button>
      </div>
    </Form>
  </details>
)
