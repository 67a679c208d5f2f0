import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug } from "../domain/Ids.ts"
import { rowReader } from "../store/ReadRows.ts"
import { AddressKeys, isDigest } from "./AddressKeys.ts"
import { EarlierAnswers } from "./EarlierAnswers.ts"
import { type NewSuppression, Suppression, type SuppressionEntry } from "./Suppression.ts"
import { SuppressionReason } from "../domain/SuppressionReason.ts"
import { OnSuppressed } from "./OnSuppressed.ts"
import { addSuppressions, forgetSoftBounces, lockSuppressions, noteRemovals } from "./SuppressionStore.ts"

/** Selects a page of entries. */
interface SuppressionPage {
  readonly reason?: SuppressionReason | undefined
  /** The id of the last entry of the previous page. */
  readonly cursor?: number | undefined
  readonly limit: number
}

const Row = Schema.Struct({
  ...Suppression.fields,
  id: Schema.Natural,
  addressKey: Schema.NonEmptyString,
  source: Schema.String,
})
type Row = typeof Row.Type

const readRow = rowReader("suppressions", Row, ({ id }: Row) => `id ${id}`)

const toEntry = ({ addressKey, ...row }: Row): SuppressionEntry => ({
  ...row,
  address: isDigest(addressKey) ? null : addressKey,
})

const toEntries = (rows: ReadonlyArray<Row>) => Effect.forEach(rows, (row) => Effect.map(readRow(row), toEntry))

/**
 * The suppression lists of organizations. Webhook events add entries in the transaction that counts them (see
 * `EventSuppressions`); all other callers use this service. Addresses are compared by `addressKey`.
 */
export class Suppressions extends Context.Service<Suppressions, {
  /**
   * Adds addresses, and cancels queued messages to them. After it returns, no message to them can begin, on any node.
   * Call this outside of a transaction. Returns the number of new entries. Texts that are no addresses are left out.
   * Fails with `SqlError` if the database does not respond.
   */
  readonly add: (added: ReadonlyArray<NewSuppression>) => Effect.Effect<number, SqlError>
  /** The entries of an address, by reason, including entries that were kept as digests after an erasure. */
  readonly find: (org: OrgSlug, address: string) => Effect.Effect<ReadonlyArray<SuppressionEntry>>
  /** Lists entries, latest first. */
  readonly list: (org: OrgSlug, page: SuppressionPage) => Effect.Effect<ReadonlyArray<SuppressionEntry>>
  /**
   * Removes an address from the list, for one reason or for all. Returns the number of removed entries. Reports from
   * before the removal that arrive later do not add the address again.
   */
  readonly remove: (org: OrgSlug, address: string, reason?: SuppressionReason) => Effect.Effect<number>
}>()("parlance/suppressions/Suppressions") {
  static readonly layer = Layer.effect(
    Suppressions,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const keys = yield* AddressKeys
      const onSuppressed = yield* OnSuppressed
      const earlierAnswers = yield* EarlierAnswers

      const columns = sql`s.id::float8 AS id, s.address_key, s.reason, s.source, s.suppressed_at`

      const add = Effect.fn("Suppressions.add")((added: ReadonlyArray<NewSuppression>) =>
        sql.withTransaction(
          Effect.andThen(lockSuppressions(sql, added.map(({ org }) => org)), addSuppressions(sql, added)),
        ).pipe(
          Effect.provideService(OnSuppressed, onSuppressed),
          Effect.tap(() => earlierAnswers.lapsed([...new Set(added.map(({ org }) => org))])),
          Effect.map(({ length }) => length),
        )
      )

      const find = Effect.fn("Suppressions.find")(function* (org: OrgSlug, address: string) {
        const rows = yield* sql<Row>`
          SELECT ${columns} FROM suppressions s
          WHERE s.org_slug = ${org} AND s.address_key = ANY(${[...yield* keys.of(address)]}::text[])
          ORDER BY s.reason, s.id`
        return yield* toEntries(rows)
      }, Effect.orDie)

      const list = Effect.fn("Suppressions.list")(function* (org: OrgSlug, { cursor, limit, reason }: SuppressionPage) {
        const rows = yield* sql<Row>`
          SELECT ${columns} FROM suppressions s
          WHERE s.org_slug = ${org} AND s.id < ${cursor ?? Number.MAX_SAFE_INTEGER}::bigint
            AND ${reason === undefined ? sql`TRUE` : sql`s.reason = ${reason}`}
          ORDER BY s.org_slug DESC, s.id DESC LIMIT ${limit}`
        return yield* toEntries(rows)
      }, Effect.orDie)

      const remove = Effect.fn("Suppressions.remove")(
        function* (org: OrgSlug, address: string, reason?: SuppressionReason) {
          const all = [...yield* keys.of(address)]
          const at = yield* Clock.currentTimeMillis
          const reasons = reason === undefined ? SuppressionReason.literals : [reason]
          return yield* sql.withTransaction(Effect.gen(function* () {
            yield* lockSuppressions(sql, [org])
            const gone = yield* sql`
              DELETE FROM suppressions s WHERE s.org_slug = ${org} AND s.address_key = ANY(${all}::text[])
                AND ${reason === undefined ? sql`TRUE` : sql`s.reason = ${reason}`} RETURNING s.id`
            // Deletes counted soft bounces, because otherwise a single soft bounce would suppress the address again.
            yield* forgetSoftBounces(sql, org, all)
            if (gone.length === 0) return 0
            yield* noteRemovals(sql, all.flatMap((key) => reasons.map((reason) => ({ org, key, reason, at }))))
            return gone.length
          }))
        },
        Effect.orDie,
      )

      return Suppressions.of({ add, find, list, remove })
    }),
  )
}
