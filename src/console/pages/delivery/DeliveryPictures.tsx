import type { DeliveryPoint, DeliverySeries } from "../../../delivery/DeliveryRates.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { PhoneFold } from "../../components/PhoneFold.tsx"
import { Pills } from "../../components/Pills.tsx"
import { Figure } from "../../charts/Figure.tsx"
import { axisTime, count, counted, decimals } from "../../Format.ts"
import { LineChart } from "../../charts/TimeChart.tsx"

const windows = [[1, english("Last hour")], [24, english("Last 24 hours")], [168, english("Last 7 days")], [
  840,
  english("Last 35 days"),
]] as const

/** The scale of an axis of counts: whole numbers, up to 4 or more. */
const few = [0, 4] as const

const rate = (perMinute: number) =>
  perMinute === 0 ? "0" : perMinute < 10 ? decimals(Number(perMinute.toPrecision(2)), 0, 9) : count(perMinute)

/** The unit for durations up to `seconds`. */
const unitOf = (seconds: number) =>
  seconds < 120
    ? { name: "s", seconds: 1 }
    : seconds < 7_200
    ? { name: "min", seconds: 60 }
    : { name: "h", seconds: 3_600 }

const lengthOf = (minutes: number) => minutes < 120 ? counted(minutes, "minute") : counted(minutes / 60, "hour")

const sum = (points: ReadonlyArray<DeliveryPoint>, of: "sent" | "failed" | "retried") =>
  points.reduce((all, point) => all + point[of], 0)

/** The largest known value. */
const most = (values: ReadonlyArray<number | null>) => values.reduce<number>((a, b) => Math.max(a, b ?? 0), 0)

/** How fast messages leave, how many wait and for how long, over time. */
export const Pictures = ({ path, series: { hours, points, stepMinutes }, zone }: {
  readonly series: DeliverySeries
  readonly path: string
  readonly zone: string
}) => {
  const isLong = hours > 24
  const time = axisTime(zone, isLong ? "both" : "clock")
  const length = lengthOf(stepMinutes)
  const open = points.find(({ complete }) => !complete)
  const common = (id: string) => ({
    labelledBy: `${id}-title`,
    times: points.map(({ end }) => end.getTime()),
    incompleteFrom: open === undefined ? undefined : open.start.getTime(),
    formatTime: isLong ? axisTime(zone, "day") : time,
    certain: true,
  })
  const from = stepMinutes === 1 ? t`Minute from` : t`${length} from`
  const start = ({ complete, start }: DeliveryPoint) =>
    complete ? time(start.getTime()) : t`${time(start.getTime())} (not over yet)`
  const latest = points.toReversed()
  const perMinute = (of: "sent" | "failed" | "retried") => points.map((point) => point[of] / point.minutes)
  const queued = points.map((point) => point.queued)
  const waits = points.map(({ oldestDueSeconds }) => oldestDueSeconds)
  const longest = most(waits)
  const unit = unitOf(longest)
  const told = (seconds: number | null) =>
    seconds === null ? t`not measured` : `${Math.round(seconds / unit.seconds)} ${unit.name}`
  return (
    <>
      <Pills
        label={t`Period of the charts`}
        aria="true"
        links={windows.map(([one, label]) => ({
          href: one === 1 ? path : `${path}?hours=${one}`,
          label: translated(label),
          isCurrent: one === hours,
        }))}
      />
      <div class="charts">
        <Figure
          id="rates"
          wide
          title={t`Messages per minute`}
          lead={
            <p class="headline">
              {t`${count(sum(points, "sent"))} sent, ${count(sum(points, "failed"))} failed, ${
                count(sum(points, "retried"))
              } attempts repeated.`}
            </p>
          }
          caption={stepMinutes === 1
            ? t`Messages by state, per minute. Failed messages are not retried automatically; repeated attempts failed
              temporarily.`
            : t`Messages by state, per minute on the average of ${length}. Failed messages are not retried automatically;
              repeated attempts failed temporarily.`}
          headings={[from, t`Sent per minute`, t`Failed per minute`, t`Repeated per minute`]}
          rows={latest.map((point) => [
            start(point),
            rate(point.sent / point.minutes),
            rate(point.failed / point.minutes),
            rate(point.retried / point.minutes),
          ])}
        >
          <LineChart
            {...common("rates")}
            range={few}
            formatValue={rate}
            lines={[
              { series: 0, name: t`Sent`, values: perMinute("sent") },
              { series: 1, name: t`Failed`, values: perMinute("failed") },
              { series: 3, name: t`Repeated`, values: perMinute("retried") },
            ]}
          />
        </Figure>
      </div>
      <PhoneFold title={t`Messages waiting, and the age of the oldest`}>
        <div class="charts">
          <Figure
            id="waiting"
            title={t`Messages waiting`}
            caption={stepMinutes === 1
              ? t`Messages that were due but not sent, measured once a minute. At most ${count(most(queued))}.`
              : t`Messages that were due but not sent, measured once a minute; the most within ${length}. At most ${
                count(most(queued))
              }.`}
            headings={[from, t`Waiting`]}
            rows={latest.map((point) => [start(point), point.queued === null ? t`not measured` : count(point.queued)])}
          >
            <LineChart
              {...common("waiting")}
              range={few}
              formatValue={count}
              lines={[{ series: 0, name: t`Waiting`, values: queued }]}
            />
          </Figure>
          <Figure
            id="oldest"
            title={t`Age of the oldest message`}
            caption={t`How long the oldest due message had been waiting. Maximum: ${
              told(longest)
            }. More than a few seconds
              means that messages arrive faster than they are sent, or that the connection is paused or has
              problems.`}
            headings={[from, t`Oldest waiting`]}
            rows={latest.map((point) => [start(point), told(point.oldestDueSeconds)])}
          >
            <LineChart
              {...common("oldest")}
              range={few}
              formatValue={(value) => `${rate(value)} ${unit.name}`}
              lines={[{
                series: 0,
                name: t`Oldest`,
                values: waits.map((seconds) => seconds === null ? null : seconds / unit.seconds),
              }]}
            />
          </Figure>
        </div>
      </PhoneFold>
    </>
  )
}
