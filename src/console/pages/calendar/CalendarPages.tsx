import { Clock, Effect } from "effect"
import { type DayOfDeliveries, Deliveries } from "../../../delivery/Deliveries.ts"
import { holdoutText } from "../../../domain/Holdout.ts"
import { t } from "../../../languages/Language.ts"
import * as Seasonality from "../../../templates/Seasonality.ts"
import { TemplateCache } from "../../../templates/TemplateCache.ts"
import { Templates } from "../../../templates/Templates.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Facts } from "../../components/Facts.tsx"
import { Pills } from "../../components/Pills.tsx"
import { Table } from "../../components/Table.tsx"
import { count, monthName, weekday } from "../../Format.ts"
import { pages } from "../../Pages.ts"
import type { Visit } from "../../Routes.tsx"
import { view } from "../../View.tsx"
import { templatePath, variantPath } from "../templates/Paths.ts"
import { holdoutWords, seasonText } from "../templates/Words.ts"
import { type Day, dayRanges, daysOf, monthAfter, monthIn, monthText, seasonDays } from "./Month.ts"

// When variants are in season, how many messages are scheduled and were sent on each day, and who is held out.

/** Templates with seasons that the calendar reads. */
const mostTemplates = 50

/** Seasons that a day of the month names. */
const namedPerDay = 3

/** A variant with seasons, and its days in the month. */
interface Entry {
  readonly template: { readonly id: string; readonly name: string }
  readonly variant: { readonly id: string; readonly name: string; readonly active: boolean }
  readonly schedule: string
  readonly days: ReadonlyArray<number>
}

const entriesOf = Effect.fnUntraced(function* ({ org }: Visit, days: ReadonlyArray<Day>) {
  const seasonal = [...(yield* TemplateCache).templates(org.slug).values()].filter(({ archived, variants }) =>
    !archived && variants.some(({ calendar }) => calendar !== Seasonality.always)
  )
  const found = yield* (yield* Templates).outlines(org.slug, seasonal.slice(0, mostTemplates).map(({ id }) => id))
  const entries = found.flatMap((template) =>
    template.variants.filter(({ seasons }) => seasons.length > 0).map((variant): Entry => ({
      template,
      variant,
      schedule: variant.seasons.map(seasonText).reduce((all, one) => t`${all}; or ${one}`),
      days: seasonDays(Seasonality.compile(variant.seasons, org.time_zone), days),
    }))
  )
  return { entries, more: seasonal.length - Math.min(seasonal.length, mostTemplates) }
})

/** The templates with another holdout than their organization's. */
const heldIn = Effect.fnUntraced(function* ({ org }: Visit) {
  const held = [...(yield* TemplateCache).templates(org.slug).values()].filter(({ archived, holdout }) =>
    !archived && holdoutText(holdout) !== holdoutText(org.holdout) && holdout.share + org.holdout.share > 0
  )
  return yield* (yield* Templates).outlines(org.slug, held.slice(0, mostTemplates).map(({ id }) => id))
})

const sendsText = ({ scheduled, sent }: DayOfDeliveries): string =>
  [
    ...(sent > 0 ? [t`${count(sent)} sent`] : []),
    ...(scheduled > 0 ? [t`${count(scheduled)} scheduled`] : []),
  ].join(", ")

/** A day of the month: its sends, and the variants that are in season. */
const DayCell = ({ entries, day, org, sends, today }: {
  readonly day: Day
  readonly entries: ReadonlyArray<Entry>
  readonly org: Visit["org"]
  readonly sends: DayOfDeliveries | undefined
  readonly today: string
}) => {
  const inSeason = entries.filter(({ days }) => days.includes(day.day))
  return (
    <td {...(day.date === today ? { class: "today", "aria-current": "date" as const } : {})}>
      <time dateTime={day.date}>{day.day}</time>
      {sends !== undefined && <span class="sub">{sendsText(sends)}</span>}
      {inSeason.length > 0 && (
        <ul class="plain-list small">
          {inSeason.slice(0, namedPerDay).map(({ template, variant }) => (
            <li>
              <a href={variantPath(org.slug, template.id, variant.id)} dir="auto" title={template.name}>
                {variant.name}
              </a>
            </li>
          ))}
          {inSeason.length > namedPerDay && <li class="muted">{t`and ${inSeason.length - namedPerDay} more`}</li>}
        </ul>
      )}
    </td>
  )
}

/** The month as weeks from Monday to Sunday. */
const MonthTable = ({ days, title, ...cell }: Omit<Parameters<typeof DayCell>[0], "day" | "sends"> & {
  readonly days: ReadonlyArray<Day>
  readonly title: string
  readonly sends: ReadonlyMap<string, DayOfDeliveries>
}) => {
  const cells: ReadonlyArray<Day | undefined> = [...Array.from({ length: days[0]!.weekday }, () => undefined), ...days]
  const weeks = Array.from({ length: Math.ceil(cells.length / 7) }, (_, week) => cells.slice(7 * week, 7 * week + 7))
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={title}>
      <table class="month">
        <caption>{title}</caption>
        <thead>
          <tr>{Array.from({ length: 7 }, (_, day) => <th scope="col">{weekday(day, "short")}</th>)}</tr>
        </thead>
        <tbody>
          {weeks.map((week) => (
            <tr>
              {Array.from({ length: 7 }, (_, at) => week[at]).map((day) =>
                day === undefined ? <td></td> : <DayCell {...cell} day={day} sends={cell.sends.get(day.date)} />
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** The seasons and the sends of the month as lists. */
const Lists = ({ days, entries, org, sends, title }: {
  readonly days: ReadonlyArray<Day>
  readonly entries: ReadonlyArray<Entry>
  readonly org: Visit["org"]
  readonly sends: ReadonlyMap<string, DayOfDeliveries>
  readonly title: string
}) => {
  const shown = entries.filter((entry) => entry.days.length > 0)
  const sending = days.filter(({ date }) => sends.has(date))
  return (
    <>
      <Card kind="flush">
        {shown.length === 0
          ? <Empty title={t`No seasons in ${title}`}>{t`Set a schedule in the editor of a variant.`}</Empty>
          : (
            <Table
              cards="labelled"
              caption={t`Seasons in ${title}`}
              headings={[t`Variant`, t`Template`, t`Days`, t`Schedule`, t`State`]}
              rows={shown.map((entry) => [
                <a href={variantPath(org.slug, entry.template.id, entry.variant.id)} dir="auto">{entry.variant.name}
                </a>,
                <a href={templatePath(org.slug, entry.template.id)} dir="auto">{entry.template.name}</a>,
                dayRanges(entry.days),
                entry.schedule,
                entry.variant.active ? <Badge kind="good">{t`active`}</Badge> : <Badge>{t`inactive`}</Badge>,
              ])}
            />
          )}
      </Card>
      {sending.length > 0 && (
        <Card kind="flush">
          <Table
            cards="line"
            caption={t`Sends in ${title}`}
            headings={[t`Day`, t`Messages`]}
            rows={sending.map(({ date, day, weekday: at }) => [
              <time dateTime={date}>{t`${weekday(at)}, ${day}`}</time>,
              sendsText(sends.get(date)!),
            ])}
          />
        </Card>
      )}
    </>
  )
}

const show = Effect.fnUntraced(function* (visit: Visit) {
  const { org, query } = visit
  const now = yield* Clock.currentTimeMillis
  const month = monthIn(query.get("month"), now, org.time_zone)
  const isList = query.get("view") === "list"
  const days = daysOf(month, org.time_zone)
  const { entries, more } = yield* entriesOf(visit, days)
  const next = daysOf(monthAfter(month, 1), org.time_zone)
  const sends = yield* (yield* Deliveries).byDay(org.slug, {
    from: new Date(days[0]!.hours[0]!),
    until: new Date(next[0]!.hours[0]!),
    zone: org.time_zone,
  })
  const title = monthName(month.year, month.month)
  const at = (of: typeof month, list: boolean) =>
    `/console/o/${org.slug}/calendar?month=${monthText(of)}${list ? "&view=list" : ""}`
  const held = yield* heldIn(visit)
  const todayDate = daysOf(monthIn(null, now, org.time_zone), org.time_zone).find(({ hours }) =>
    now >= hours[0]! && now < hours[0]! + 25 * 3_600_000 && now < hours[23]! + 3_600_000
  )?.date ?? ""
  return view(
    {
      title: t`Calendar`,
      lead: t`Seasons of variants, scheduled and sent messages, and holdouts. Days are in ${org.time_zone}.`,
      actions: (
        <>
          <a class="button" href={at(monthAfter(month, -1), isList)} rel="prev">{t`Previous month`}</a>
          <a class="button" href={at(monthAfter(month, 1), isList)} rel="next">{t`Next month`}</a>
        </>
      ),
    },
    <Pills
      label={t`Form of the calendar`}
      links={[
        { href: at(month, false), label: t`Month`, isCurrent: !isList },
        { href: at(month, true), label: t`List`, isCurrent: isList },
      ]}
    />,
    isList ? <Lists days={days} entries={entries} org={org} sends={sends} title={title} /> : (
      <Card kind="flush">
        <MonthTable days={days} entries={entries} org={org} sends={sends} title={title} today={todayDate} />
      </Card>
    ),
    more > 0 && <p class="small muted">{t`Seasons of ${count(more)} more templates are not shown.`}</p>,
    <Card title={t`Holdouts`} lead={t`People whose content is chosen without the model, every day.`}>
      <Facts
        rows={[
          [t`Organization`, holdoutWords(org.holdout)],
          ...held.map(({ holdout, id, name }) =>
            [<a href={`${templatePath(org.slug, id)}/settings`} dir="auto">{name}</a>, holdoutWords(holdout)] as const
          ),
        ]}
      />
    </Card>,
  )
})

/** The calendar of an organization. */
export const layer = pages(({ page }) => [page("/console/o/:org/calendar", "listTemplates", show)])
