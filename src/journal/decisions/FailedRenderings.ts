import type { SqlClient } from "effect/sql"
import type { Tally, TallyCounts } from "../../bandit/Tally.ts"
import type { FailedRendering } from "./Decision.ts"

// A failed rendering counts against its variant as one decision without an outcome, if the variant was drawn (intention
// to treat). The decision's events belong to the variant that was sent instead.

/** A failed rendering, as stored in the column `failed` of a decision. */
export interface StoredFailure {
  readonly copy_id: string
  readonly mode: FailedRendering["mode"]
  readonly propensity: number | null
  readonly weights: Readonly<Record<string, number>> | null
}

const textOf = ({ copyId, mode, propensity, weights }: FailedRendering): string =>
  `{"copy_id":${JSON.stringify(copyId)},"mode":"${mode}","propensity":${propensity},"weights":${weights}}`

/** Returns the value of the column `failed` of a decision. */
export const failedText = (failed: ReadonlyArray<FailedRendering> | undefined): string | null =>
  failed === undefined ? null : `[${failed.map(textOf).join(",")}]`

/** Returns the counts of a failed rendering. The model learns from it only if the variant was drawn. */
export const failureOf = (
  { propensity }: Pick<StoredFailure, "propensity">,
): Pick<Tally, "track"> & { readonly counts: TallyCounts } =>
  propensity === null
    ? { track: "forced", counts: { unrendered: 1 } }
    : { track: "learned", counts: { decisions: 1, unrendered: 1 } }

/** SQL that adds the counts of `failureOf` to the ledger rows of the decisions `inserted`. */
export const failureCounts = (sql: SqlClient.SqlClient, sandboxSuffix: string) =>
  sql`
      UNION ALL
      SELECT i.org_slug, i.template_id, f.copy_id, i.segment, date_bin('1 hour', i.decided_at, 'epoch'),
        CASE WHEN f.propensity IS NULL THEN 'forced' ELSE 'learned' END,
        CASE WHEN f.propensity IS NULL THEN json_build_object('unrendered', count(*))
          ELSE json_build_object('decisions', count(*), 'unrendered', count(*)) END
      FROM inserted i CROSS JOIN LATERAL json_to_recordset(i.failed) AS f (copy_id text, propensity float8)
      WHERE right(i.org_slug, ${sandboxSuffix.length}) <> ${sandboxSuffix}
      GROUP BY 1, 2, 3, 4, 5, f.propensity IS NULL`

/** The columns of a decision that record how its variant was chosen. */
interface Drawn {
  readonly copyId: string
  readonly mode: string
  readonly propensity: number | null
  readonly weights: Readonly<Record<string, number>> | null
  readonly failed: ReadonlyArray<StoredFailure> | null
}

/** Returns the draws whose variant could not be rendered, as decisions of that variant without events. */
export const failedDraws = <A extends Drawn>(decisions: ReadonlyArray<A>): ReadonlyArray<A> =>
  decisions.flatMap((decision) =>
    (decision.failed ?? []).flatMap(({ copy_id, mode, propensity, weights }): ReadonlyArray<A> =>
      propensity === null ? [] : [{ ...decision, copyId: copy_id, mode, propensity, weights, failed: null }]
    )
  )
