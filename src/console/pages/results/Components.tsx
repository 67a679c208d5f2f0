import { t } from "../../../languages/Language.ts"
import type { TemplateResults } from "../../../results/TemplateResults.ts"
import { count, counted, percent } from "../../Format.ts"
import { Card } from "../../components/Card.tsx"
import { Table } from "../../components/Table.tsx"

const signed = (share: number) => `${share < 0 ? "−" : "+"}${percent(Math.abs(share))}`

/** Components that are shown at once; the page stays short. */
const shownAtOnce = 12

const ComponentTable = (
  { caption, components }: Pick<TemplateResults, "components"> & { readonly caption: string },
) => (
  <Table
    cards="tiles"
    caption={caption}
    headings={[t`Kind`, t`Component`, t`Sends`, t`Effect`, t`95 % interval`]}
    rows={components.map(({ decisions, interval, kind, lift, value }) => [
      kind,
      value ?? t`none`,
      count(decisions),
      signed(lift),
      t`${signed(interval[0])} to ${signed(interval[1])}`,
    ])}
  />
)

/** The effect of each component of the variants; nothing where no variants have any in common. */
export const Components = ({ components }: Pick<TemplateResults, "components">) =>
  components.length === 0 ? null : (
    <Card kind="flush" title={t`Components`}>
      <p class="padded">
        {t`The effect of each component on the rate, compared with the average of its kind. In simulations the
          intervals held the true effect in 95 % or more of the cases while components changed the rate by up
          to about 30 %, and in 81 % of the cases with effects twice as strong.`}
      </p>
      <ComponentTable caption={t`Effects of the components`} components={components.slice(0, shownAtOnce)} />
      {components.length > shownAtOnce && (
        <details class="more-rows">
          <summary>{counted(components.length - shownAtOnce, "more component")}</summary>
          <ComponentTable caption={t`Effects of the other components`} components={components.slice(shownAtOnce)} />
        </details>
      )}
    </Card>
  )
