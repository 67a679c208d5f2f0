import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { LinkSpent } from "./AccountErrors.ts"
import * as Tokens from "./Tokens.ts"

/** For how long a link works. Unit: milliseconds. */
const validMillis = 3_600_000

/** The action that a link permits: make the first administrator, or choose a new password for an account. */
export type Purpose = "first_run" | "password"

/** Links that work once, for one hour. Only a digest of them is kept. */
export class OneTimeLinks extends Context.Service<OneTimeLinks, {
  /** The only moment at which the token can be read; an earlier link of the same purpose and account stops working. */
  readonly create: (purpose: Purpose, accountId?: string) => Effect.Effect<string>
  /**
   * Whose link this is (null for the first run), without spending it. Fails with `LinkSpent` if the link is unknown,
   * used or expired.
   */
  readonly find: (purpose: Purpose, token: string) => Effect.Effect<string | null, LinkSpent>
  /** Spends the link; of two at once, one fails. Fails with `LinkSpent` if the link is unknown, used or expired. */
  readonly spend: (purpose: Purpose, token: string) => Effect.Effect<string | null, LinkSpent>
}>()("parlance/accounts/OneTimeLinks") {
  static readonly layer = Layer.effect(
    OneTimeLinks,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const create = Effect.fn("OneTimeLinks.create")(function* (purpose: Purpose, accountId?: string) {
        const now = yield* DateTime.nowAsDate
        const token = Tokens.make()
        yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
          yield* sql`
            DELETE FROM one_time_links l WHERE l.expires_at <= ${now}
              OR (l.purpose = ${purpose} AND l.account_id IS NOT DISTINCT FROM ${accountId ?? null}::text)`
          yield* sql`
            INSERT INTO one_time_links (digest, purpose, account_id, created_at, expires_at)
            VALUES (${Tokens.digest(token)}, ${purpose}, ${accountId ?? null}, ${now},
              ${new Date(now.getTime() + validMillis)})`
        })))
        return token
      })

      const find = Effect.fn("OneTimeLinks.find")(function* (purpose: Purpose, token: string) {
        const now = yield* DateTime.nowAsDate
        const [row] = yield* Effect.orDie(sql<{ accountId: string | null }>`
          SELECT l.account_id FROM one_time_links l
          WHERE l.digest = ${Tokens.digest(token)} AND l.purpose = ${purpose} AND l.expires_at > ${now}`)
        return row === undefined ? yield* new LinkSpent() : row.accountId
      })

      const spend = Effect.fn("OneTimeLinks.spend")(function* (purpose: Purpose, token: string) {
        const now = yield* DateTime.nowAsDate
        const [row] = yield* Effect.orDie(sql<{ accountId: string | null }>`
          DELETE FROM one_time_links l
          WHERE l.digest = ${Tokens.digest(token)} AND l.purpose = ${purpose} AND l.expires_at > ${now}
          RETURNING l.account_id`)
        return row === undefined ? yield* new LinkSpent() : row.accountId
      })

      return OneTimeLinks.of({ create, find, spend })
    }),
  )
}
