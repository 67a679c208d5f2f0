import { localeName } from "../templates/LocalesCard.tsx"
import { candidateName } from "../../../domain/SendNothing.ts"
import type { TemplateResults } from "../../../results/TemplateResults.ts"
import { count, percent } from "../../Format.ts"
import { Table } from "../../components/Table.tsx"

/** The counts of each variant in each locale. */
export const Locales = ({ locales }: { readonly locales: NonNullable<TemplateResults["locales"]> }) => (
  <Table
    cards="tiles"
    caption="Results by locale"
    headings={["Locale", "Variant", "Sends", "Clicks", "Counted rate"]}
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
