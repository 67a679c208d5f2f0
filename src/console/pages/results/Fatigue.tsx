import { t } from "../../../languages/Language.ts"
import { earlierText } from "../../../results/ExposureEffects.ts"
import type { TimedTemplateResults } from "../../../results/TemplateResults.ts"
import { signedPercent } from "../../Format.ts"
import { Card } from "../../components/Card.tsx"
import { Table } from "../../components/Table.tsx"

/** How rates change the more often people have had a variant. `fatigue` has at least one effect. */
export const Fatigue = ({ fatigue }: Pick<TimedTemplateResults, "fatigue">) => (
  <Card kind="flush" title={t`Fatigue`}>
    <p class="padded">
      {t`How the rate changes when a person gets a variant again within 30 days, compared with the first
        time. The change is the average of all variants. Traffic takes it into account: people get fewer
        repeats of a variant that they have seen often. In simulations the intervals held the true change in
        95 % or more of the cases.`}
    </p>
    <Table
      cards="tiles"
      caption={t`Change of the rate by earlier messages`}
      headings={[t`Earlier messages with the variant`, t`Change of the rate`, t`95 % interval`]}
      rows={fatigue.map((one) => [
        earlierText(one),
        signedPercent(one.change),
        t`${signedPercent(one.interval[0])} to ${signedPercent(one.interval[1])}`,
      ])}
    />
  </Card>
)
