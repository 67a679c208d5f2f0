import { english, t, translated } from "../../../languages/Language.ts"
import type { HoldoutOutcome } from "../../../results/HoldoutComparison.ts"
import type { HoldoutResults } from "../../../results/HoldoutResults.ts"
import { count, percent, percentagePoints } from "../../Format.ts"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Table } from "../../components/Table.tsx"

const points = (share: number) => percentagePoints(share, 2)

const names: { readonly [outcome in HoldoutOutcome["outcome"]]: string } = {
  click: english("click rate"),
  open: english("open rate"),
  conversion: english("conversion rate"),
  negative: english("rate of negative signals"),
}

/** Share and content of the holdout, such as `5 % of the people get a random split of the variants`. */
const aboutText = (
  { content, copy_id, share }: Pick<HoldoutResults, "content" | "copy_id" | "share">,
  nameOf: (id: string) => string,
) =>
  content === "even"
    ? t`${percent(share)} of the people get a random split of the variants`
    : content === "fixed"
    ? t`${percent(share)} of the people get the variant ${nameOf(String(copy_id))}`
    : t`${percent(share)} of the people get no message`

/** One comparison in sentences. */
export const comparisonText = ({ difference, interval, needed, outcome }: HoldoutOutcome): string => {
  const name = translated(names[outcome])
  if (difference === null || interval === null) return t`The ${name} has nothing to be compared with yet.`
  const isWithinChance = interval[0] <= 0 && interval[1] >= 0
  const found = t`The ${name} differs by ${points(difference)} percentage points from the holdout (95\u00a0% interval ${
    points(interval[0])
  } to ${points(interval[1])}).`
  if (!isWithinChance) return found
  return [
    found,
    t`This difference may still be chance.`,
    ...(needed === null || needed === 0
      ? []
      : [t`To confirm a difference of this size takes about ${count(needed)} more sends.`]),
  ].join(" ")
}

/** The comparison of treated people with people held out. Empty without a holdout. */
export const Holdout = ({ holdout, nameOf }: {
  readonly holdout: HoldoutResults | null
  readonly nameOf: (id: string) => string
}) => {
  if (holdout === null) return null
  const { control, outcomes, running, treated } = holdout
  const row = (who: string, decisions: number, { interval, outcomes, rate }: HoldoutOutcome["treated"]) => [
    who,
    count(decisions),
    count(outcomes),
    rate === null ? "–" : percent(rate),
    interval === null ? "–" : t`${percent(interval[0])} to ${percent(interval[1])}`,
  ]
  return (
    <Card
      kind="flush"
      title={t`Holdout`}
      lead={running
        ? t`${
          aboutText(holdout, nameOf)
        }, so that the effect of the service can be measured. Decisions count once they are four
          days old.`
        : t`${
          aboutText(holdout, nameOf)
        }, so that the effect of the service can be measured; it has ended. Decisions count once
          they are four days old.`}
    >
      {treated + control === 0
        ? (
          <Empty title={t`No results of the holdout yet`}>
            {t`Decisions count once they are four days old. The comparison starts again when the share or content
              of the holdout changes.`}
          </Empty>
        )
        : outcomes.map((one) => (
          <>
            <p class="padded">{comparisonText(one)}</p>
            <Table
              cards="tiles"
              caption={t`The ${translated(names[one.outcome])} against the holdout`}
              headings={[t`People`, t`Sends`, t`With outcome`, t`Rate`, t`95 % interval`]}
              rows={[row(t`Personalized`, treated, one.treated), row(t`Holdout`, control, one.control)]}
            />
          </>
        ))}
    </Card>
  )
}
