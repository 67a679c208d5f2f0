import { t } from "../../../languages/Language.ts"
import type { TimedTemplateResults } from "../../../results/TemplateResults.ts"
import { count, percent, percentagePoints } from "../../Format.ts"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Table } from "../../components/Table.tsx"

/** The gain from advised send times. */
export const Timing = ({ more, timing, title = t`Send times` }: Pick<TimedTemplateResults, "timing"> & {
  readonly title?: string
  /** Where there is more about it. */
  readonly more?: string
}) => {
  const { explored, followed, gain, missed } = timing
  const row = (what: string, one: typeof followed) => [
    what,
    count(one.sends),
    count(one.engaged),
    one.rate === null ? "–" : percent(one.rate),
    one.interval === null ? "–" : t`${percent(one.interval[0])} to ${percent(one.interval[1])}`,
  ]
  return (
    <Card
      kind="flush"
      title={title}
      {...(more === undefined ? {} : { actions: <a class="button compact" href={more}>{t`Hours of the week`}</a> })}
    >
      {followed.sends + explored.sends + missed.sends === 0
        ? (
          <Empty title={t`No messages sent at recommended times yet`}>
            {t`Request send times from Delay, or let Deliver choose them. The lift appears here four days after
              sending.`}
          </Empty>
        )
        : (
          <>
            <p class="padded">
              {gain === null
                ? t`There is nothing to compare with yet.`
                : t`Sending at the recommended time changes engagement by ${
                  percentagePoints(gain.difference)
                } percentage points (95 % interval ${percentagePoints(gain.interval[0])} to ${
                  percentagePoints(gain.interval[1])
                })
                  compared with random times.`}
              {gain !== null && gain.interval[0] <= 0 && gain.interval[1] >= 0 &&
                ` ${t`This difference may still be chance.`}`}
            </p>
            <Table
              cards="tiles"
              caption={t`Engagement by when the message was sent`}
              headings={[t`Sent`, t`Messages`, t`Engaged with`, t`Rate`, t`95 % interval`]}
              rows={[
                row(t`At the recommended time`, followed),
                row(t`At a random time, for comparison`, explored),
                row(t`At another time`, missed),
              ]}
            />
          </>
        )}
    </Card>
  )
}
