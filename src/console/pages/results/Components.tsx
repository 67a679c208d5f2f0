/** @jsxImportSource preact */
import type { TemplateResults } from "../../../results/TemplateResults.ts"
import { count, percent } from "../../charts/Numbers.ts"
import { Card } from "../../components/Card.tsx"
import { Table } from "../../components/Table.tsx"

const signed = (share: number) => `${share < 0 ? "−" : "+"}${percent(Math.abs(share))}`

/** What each component of the variants does; nothing where no variants have any in common. */
export const Components = ({ components }: Pick<TemplateResults, "components">) =>
  components.length === 0 ? null : (
    <Card kind="flush" title="Components">
      <p class="padded">
        The effect of each component on the rate, against the average of its kind. Intervals are conservative: they hold
        the true effect in 95 % or more of the cases.
      </p>
      <Table
        caption="Effects of the components"
        headings={["Kind", "Component", "Decisions", "Effect", "95 % interval"]}
        rows={components.map(({ decisions, interval, kind, lift, value }) => [
          kind,
          value ?? "none",
          count(decisions),
          signed(lift),
          `${signed(interval[0])} to ${signed(interval[1])}`,
        ])}
      />
    </Card>
  )
