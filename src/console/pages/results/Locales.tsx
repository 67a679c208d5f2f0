import { localeName } from "../templates/LocalesCard.tsx"
import { candidateName } from "../../../domain/SendNothing.ts"
import { t } from "../../../languages/Language.ts"
import type { TemplateResults } from "../../../results/TemplateResults.ts"
import { count, percent } from "../../Format.ts"
import { Table } from "../../components/Table.tsx"

/** The counts of each variant in each locale. */
export const Locales = ({ locales }: { readonly locales: NonNullable<TemplateResults["locales"]> }) => (
  <Table
    cards="tiles"
    caption={t`Results by locale`}
    headings={[t`Locale`, t`Variant`, t`Sends`, t`Clicks`, t`Counted rate`]}
    rows={locales.flatMap(({ locale, variants }) =>
      variants.map(({ copy_id, decisions, outcomes, raw_rate }) => [
        localeName(locale),
        candidateName(copy_id),
        count(decisions),
        count(outcomes.click),
        raw_rate === null ? "" : percent(raw_rate),
      ])
    )}
  />
)
