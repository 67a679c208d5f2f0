import { Effect } from "effect"
import { explorationShare } from "../../../sendtime/Choice.ts"
import { DayOfWeek } from "../../../domain/Season.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { SendTimes } from "../../../results/SendTimes.ts"
import type { SendTimeHour, TemplateSendTimes } from "../../../results/TemplateSendTimes.ts"
import { Templates } from "../../../templates/Templates.ts"
import { Figure } from "../../charts/Figure.tsx"
import { dayNames, ShadeKey, WeekMap } from "../../charts/HeatMap.tsx"
import { count, decimals, percent, signedPercent, weekday } from "../../Format.ts"
import { LineChart } from "../../charts/TimeChart.tsx"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Live, LiveScript } from "../../components/Live.tsx"
import { PhoneFold } from "../../components/PhoneFold.tsx"
import { Table } from "../../components/Table.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Visit } from "../../Routes.tsx"
import { Timing } from "./Timing.tsx"
import { list } from "./Words.ts"

/** How long the page awaits the count of people. After that, it says so and reloads by itself. */
const patience = "100 millis"

const per100 = (share: number) => {
  const value = 100 * share
  if (value === 0) return "0"
  return decimals(value, value >= 10 ? 0 : value >= 1 ? 1 : 2)
}

const placeOf = (best: TemplateSendTimes["best"]) => best === null ? "–" : `${weekday(best.day - 1)} ${best.hour}:00`

const onDays: { readonly [day in DayOfWeek]: string } = {
  mon: english("Mondays"),
  tue: english("Tuesdays"),
  wed: english("Wednesdays"),
  thu: english("Thursdays"),
  fri: english("Fridays"),
  sat: english("Saturdays"),
  sun: english("Sundays"),
}

const permissionText = ({ allowed_days: days, quiet_hours: quiet }: TemplateSendTimes): string => {
  const parts = [
    ...(quiet === null ? [] : [t`nothing is sent from ${quiet.from} to ${quiet.to}`]),
    ...(days === null ? [] : [
      t`only ${
        list(DayOfWeek.literals.filter((day) => days.includes(day)).map((day) => translated(onDays[day])))
      } are used`,
    ]),
  ]
  return parts.length === 0 ? t`Every hour is allowed.` : t`Settings: ${list(parts)}.`
}

/** Lift of the best hour over an average hour. */
const Headline = ({ best, hours }: Pick<TemplateSendTimes, "best" | "hours">) => {
  const allowed = hours.filter((hour) => hour.allowed > 0)
  const weight = allowed.reduce((sum, hour) => sum + hour.allowed, 0)
  const average = allowed.reduce((sum, { allowed, engaged }) => sum + allowed * engaged, 0) / weight
  if (best === null) return null
  if (!best.certain) {
    return (
      <p class="headline">
        {t`So far the hours differ only by chance: any allowed hour may be equally good.`}
      </p>
    )
  }
  return (
    <p class="headline">
      {t`${placeOf(best)} is the best hour to send: people are expected to engage with ${per100(best.engaged)} of 100
        messages, ${signedPercent(best.engaged / average - 1).replace("+", "")} more than at a random allowed hour.`}
    </p>
  )
}

const offOf = ({ allowed }: SendTimeHour) => allowed === 0 ? "wholly" : allowed < 1 ? "partly" : undefined

/** Results by hour of the week. */
const Week = ({ found, settings }: { readonly found: TemplateSendTimes; readonly settings: string }) => {
  const { best, hours, time_zone: zone } = found
  const values = hours.map(({ engaged }) => engaged)
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const anyOff = hours.some(({ allowed }) => allowed < 1)
  return (
    <Figure
      id="week"
      wide
      title={t`When to send`}
      lead={<Headline best={best} hours={hours} />}
      caption={
        <>
          {t`Expected opens, clicks or conversions per 100 messages within three days, by the hour of sending in
            the recipient's local time, or in ${zone} if it is unknown.`} {permissionText(found)}{" "}
          <a href={settings}>{t`Quiet hours and days`}</a>
        </>
      }
      headings={[t`Hour`, ...dayNames()]}
      rows={Array.from({ length: 24 }, (_, hour) => [
        `${hour}:00`,
        ...dayNames().map((_, day) => {
          const one = hours[day * 24 + hour]!
          return one.allowed === 0 ? `(${per100(one.engaged)})` : per100(one.engaged)
        }),
      ])}
    >
      <WeekMap
        labelledBy="week-title"
        cells={hours.map((one) => ({
          share: high > low ? 0.06 + 0.94 * (one.engaged - low) / (high - low) : 0.5,
          text: one.allowed === 0
            ? t`${per100(one.engaged)} of 100, not allowed`
            : one.allowed < 1
            ? t`${per100(one.engaged)} of 100, allowed in part`
            : t`${per100(one.engaged)} of 100`,
          off: offOf(one),
          marked: best?.certain === true && one.day === best.day && one.hour === best.hour,
        }))}
      />
      <ShadeKey from={per100(low)} to={t`${per100(high)} of 100`}>
        {best?.certain === true && (
          <span class="key">
            <svg width="18" height="16" aria-hidden="true">
              <rect class="h0 marked" x="2" y="2" width="14" height="12" rx="2" />
            </svg>
            {t`best hour`}
          </span>
        )}
        {anyOff && (
          <span class="key">
            <svg width="18" height="16" aria-hidden="true">
              <line class="off" x1="3" x2="15" y1="13" y2="3" />
            </svg>
            {t`not allowed (in brackets in the table)`}
          </span>
        )}
      </ShadeKey>
    </Figure>
  )
}

/** How attention goes through the day. */
const Day = ({ hours }: Pick<TemplateSendTimes, "hours">) => {
  const of = (day: number) => hours.slice(day * 24, day * 24 + 24).map(({ attention }) => attention)
  const [week, weekend] = [of(0), of(5)]
  return (
    <Figure
      id="attention"
      wide
      title={t`Attention through the day`}
      caption={t`Of 100 messages that have just arrived, the number that people engage with in that hour. Older
        messages get less attention.`}
      headings={[t`Hour`, t`Monday to Friday`, t`Saturday and Sunday`]}
      rows={week.map((value, hour) => [`${hour}:00`, per100(value), per100(weekend[hour]!)])}
    >
      <LineChart
        labelledBy="attention-title"
        times={week.map((_, hour) => hour)}
        formatTime={(hour) => `${hour}:00`}
        formatValue={per100}
        range={[0, 0]}
        certain
        lines={[{ series: 0, name: t`Mon to Fri`, values: week }, { series: 1, name: t`Sat and Sun`, values: weekend }]}
      />
    </Figure>
  )
}

/** The data behind send times, and differences between variants. */
const Learned = ({ basis, levels, tau_hours: tau, variants }: TemplateSendTimes) => {
  const [template, organization] = levels
  return (
    <Card kind="flush" title={t`Data behind send times`}>
      <div data-live="learned">
        <p class="padded">
          {basis === "template"
            ? t`${count(template!.touches)} messages of this template, of which ${
              count(template!.engagements)
            } were engaged with. ${percent(template!.weight)} of its week is based on them, the rest on the ${
              count(organization!.touches)
            } messages of the organization.`
            : t`There is no data for this template yet, so this is the week of the whole organization: ${
              count(organization!.touches)
            } messages, of which ${count(organization!.engagements)} were engaged with.`}{" "}
          {t`Attention to a message fades within about ${tau} hours. Send times for people with a history are based on that
            history, combined with this week. For everyone else, this week is used.`}
        </p>
        {variants.length !== 0 && (
          <Table
            cards="tiles"
            first={3}
            caption={t`By variant`}
            headings={[t`Variant`, t`Messages`, t`Engaged with`, t`Own share`, t`Best hour`]}
            rows={variants.map(({ best, engagements, name, touches, weight }) => [
              name,
              count(touches),
              count(engagements),
              percent(weight),
              best === null || !best.certain ? "–" : t`${placeOf(best)} (${per100(best.engaged)} of 100)`,
            ])}
          />
        )}
      </div>
    </Card>
  )
}

const show = Effect.fnUntraced(function* (visit: Visit) {
  const { org, params } = visit
  const template = yield* (yield* Templates).outline(org.slug, params["template"] ?? "")
  const found = yield* (yield* SendTimes).of(org.slug, template.id, patience)
  const base = `/console/o/${org.slug}/templates/${encodeURIComponent(template.id)}`
  const title = t`${template.name} · Send times`
  return view(
    {
      title,
      live: true,
      back: { href: `${base}/results`, label: t`${template.name} · Results` },
      lead: t`When recipients engage with this template, and the best hour of the week to send it.`,
      actions: <Live />,
    },
    found.hours.length === 0
      ? (
        <Card kind="flush">
          <Empty
            title={found.basis === "learning" ? t`Send times are being calculated` : t`No data yet`}
            {...(found.basis === "learning"
              ? {}
              : { action: <a class="button" href={`/console/o/${org.slug}/sources`}>{t`Check webhook sources`}</a> })}
          >
            {found.basis === "learning"
              ? t`This takes a few seconds after the service has started. The page updates itself.`
              : t`The week appears once messages were sent. A message counts as sent when an event reports that it was
                sent, delivered or engaged with, or else four days after its send.`}
          </Empty>
        </Card>
      )
      : (
        <div class="charts">
          <Week found={found} settings={`/console/o/${org.slug}/settings`} />
          <PhoneFold title={t`Attention through the day`}>
            <Day hours={found.hours} />
          </PhoneFold>
        </div>
      ),
    found.hours.length !== 0 && <Learned {...found} />,
    <div data-live="timing">
      <Timing timing={found.timing} title={t`Lift from send times`} />
    </div>,
    <p class="small muted">
      {t`Send times come from Delay, and from Deliver if the request lets it choose. ${
        percent(explorationShare)
      } of them are
        random allowed times, to measure the lift and to notice changes.`}
    </p>,
    <LiveScript />,
  )
})

/** The hours at which recipients of a template open it. */
export const layer = pages(({ page }) => [
  page("/console/o/:org/templates/:template/send-times", "templateSendTimes", show),
])
