/** @jsxImportSource preact */
import type { TimedTemplateResults } from "../../../results/TemplateResults.ts"
import { count, percent } from "../../charts/Numbers.ts"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Table } from "../../components/Table.tsx"

const points = (share: number) => `${share < 0 ? "−" : "+"}${Math.abs(100 * share).toFixed(1)}`

/** The gain from advised send times. */
export const Timing = ({ more, timing, title = "Send times" }: Pick<TimedTemplateResults, "timing"> & {
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
    one.interval === null ? "–" : `${percent(one.interval[0])} to ${percent(one.interval[1])}`,
  ]
  return (
    <Card
      kind="flush"
      title={title}
      {...(more === undefined ? {} : { actions: <a class="button compact" href={more}>Hours of the week</a> })}
    >
      {followed.sends + explored.sends + missed.sends === 0
        ? (
          <Empty title="No message was sent by advice yet">
            Ask Delay when to send, or let Deliver choose the time: what that gains is shown here, four days after
            sending.
          </Empty>
        )
        : (
          <>
            <p class="padded">
              {gain === null
                ? "There is nothing to compare with yet."
                : `Sending at the advised time changes engagement by ${points(gain.difference)} percentage points ` +
                  `(95 % interval ${points(gain.interval[0])} to ${
                    points(gain.interval[1])
                  }) against times drawn evenly.${
                    gain.interval[0] <= 0 && gain.interval[1] >= 0 ? " That is within chance so far." : ""
                  }`}
            </p>
            <Table
              caption="Engagement by when the message was sent"
              headings={["Sent", "Messages", "Engaged with", "Rate", "95 % interval"]}
              rows={[
                row("At the advised time", followed),
                row("At a time drawn evenly, to compare with", explored),
                row("At another time than advised", missed),
              ]}
            />
          </>
        )}
    </Card>
  )
}
