/** @jsxImportSource preact */
import type { HoldoutOutcome, HoldoutResults } from "../../../results/HoldoutResults.ts"
import { count, percent } from "../../charts/Numbers.ts"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Table } from "../../components/Table.tsx"

const points = (share: number) => `${share < 0 ? "−" : "+"}${(100 * Math.abs(share)).toFixed(2)}`

const names: { readonly [outcome in HoldoutOutcome["outcome"]]: string } = {
  click: "click rate",
  open: "open rate",
  conversion: "conversion rate",
  negative: "rate of negative signals",
}

/** Share and content of the holdout, such as `5 % of the people get an even choice`. */
const aboutText = ({ content, copy_id, share }: Pick<HoldoutResults, "content" | "copy_id" | "share">) => {
  const content_ = content === "even"
    ? "an even choice among the variants"
    : content === "fixed"
    ? `always the variant ${copy_id}`
    : "no message"
  return `${percent(share)} of the people get ${content_}`
}

/** One comparison in sentences. */
export const comparisonText = ({ difference, interval, needed, outcome }: HoldoutOutcome): string => {
  if (difference === null || interval === null) return `The ${names[outcome]} has nothing to be compared with yet.`
  const isWithinChance = interval[0] <= 0 && interval[1] >= 0
  const found = `The ${names[outcome]} is ${points(difference)} percentage points against the holdout (95\u00a0% ` +
    `interval ${points(interval[0])} to ${points(interval[1])}).`
  if (!isWithinChance) return found
  return needed === null || needed === 0
    ? `${found} That is within chance so far.`
    : `${found} That is within chance so far: to tell a difference of this size takes about ${
      count(needed)
    } more decisions.`
}

/** The comparison of treated people with people held out. Empty without a holdout. */
export const Holdout = ({ holdout }: { readonly holdout: HoldoutResults | null }) => {
  if (holdout === null) return null
  const { control, outcomes, running, treated } = holdout
  const row = (who: string, decisions: number, { interval, outcomes, rate }: HoldoutOutcome["treated"]) => [
    who,
    count(decisions),
    count(outcomes),
    rate === null ? "–" : percent(rate),
    interval === null ? "–" : `${percent(interval[0])} to ${percent(interval[1])}`,
  ]
  return (
    <Card
      kind="flush"
      title="Holdout"
      lead={`${aboutText(holdout)}, so that the effect of the service can be measured${
        running ? "" : "; it has ended"
      }. Decisions count once they are four days old.`}
    >
      {treated + control === 0
        ? (
          <Empty title="No decision of the holdout is four days old yet">
            The comparison begins with the last change of the holdout's share or content.
          </Empty>
        )
        : outcomes.map((one) => (
          <>
            <p class="padded">{comparisonText(one)}</p>
            <Table
              caption={`The ${names[one.outcome]} against the holdout`}
              headings={["People", "Decisions", "With the outcome", "Rate", "95 % interval"]}
              rows={[row("Treated", treated, one.treated), row("Held out", control, one.control)]}
            />
          </>
        ))}
    </Card>
  )
}
