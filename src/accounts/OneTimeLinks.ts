import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { passwordLetter } from "../mail/Letters.ts"
import { MailQueue } from "../mail/MailQueue.ts"
import { LinkSpent } from "./AccountErrors.ts"
import * as Tokens from "./Tokens.ts"

/** Time for which a link is valid. Unit: milliseconds. */
const validMillis = 3_600_000

/** The action that a link permits: create the first administrator, or choose a new password for an account. */
type Purpose = "first_run" | "password"

/**
 * The purpose as stored. `forgotten`: a link to choose a password that was mailed to the address of its account and
 * shown to no one else, so that its use proves who owns the address.
 */
type StoredPurpose = Purpose | "forgotten"

const storedPurposes: { readonly [purpose in Purpose]: ReadonlyArray<StoredPurpose> } = {
  first_run: ["first_run"],
  password: ["password", "forgotten"],
}

/** Path of the page where a link is used. */
export const linkPath = (purpose: Purpose, token: string): string =>
  `/console/${purpose === "first_run" ? "first-run" : "password"}?token=${token}`

/** Links that work once, within one hour. Only a digest of each is stored. */
export class OneTimeLinks extends Context.Service<OneTimeLinks, {
  /**
   * Creates a link and returns its token, which is only in this response. Invalidates an earlier link of this purpose
   * and account. A link for an account is also mailed to its address if a mail server is configured.
   */
  readonly create: (purpose: Purpose, accountId?: string) => Effect.Effect<string>
  /**
   * Creates a link for an account that only its address receives. Earlier links stay valid, so that a stranger cannot
   * invalidate them by another request.
   */
  readonly createForgotten: (accountId: string) => Effect.Effect<string>
  /**
   * Returns the account of a link (null for the first run) without using it up. Fails with `LinkSpent` if the link is
   * unknown, used or expired.
   */
  readonly find: (purpose: Purpose, token: string) => Effect.Effect<string | null, LinkSpent>
  /**
   * Uses up a link. Of two concurrent uses, one fails. Also removes other links to choose a password for the account.
   * Fails with `LinkSpent` if the link is unknown, used or expired.
   */
  readonly spend: (
    purpose: Purpose,
    token: string,
  ) => Effect.Effect<{ readonly accountId: string | null; readonly isOwn: boolean }, LinkSpent>
}>()("parlance/accounts/OneTimeLinks") {
  static readonly layer = Layer.effect(
    OneTimeLinks,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const mail = yield* MailQueue

      const insert = (token: string, purpose: StoredPurpose, accountId: string | undefined, now: Date) =>
        sql`
          INSERT INTO one_time_links (digest, purpose, account_id, created_at, expires_at)
          VALUES (${Tokens.digest(token)}, ${purpose}, ${accountId ?? null}, ${now},
            ${new Date(now.getTime() + validMillis)})`

      const create = Effect.fn("OneTimeLinks.create")(function* (purpose: Purpose, accountId?: string) {
        const now = yield* DateTime.nowAsDate
        const token = Tokens.make()
        yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
          yield* sql`
            DELETE FROM one_time_links l WHERE l.expires_at <= ${now}
              OR (l.purpose = ${purpose} AND l.account_id IS NOT DISTINCT FROM ${accountId ?? null}::text)`
          yield* insert(token, purpose, accountId, now)
          if (accountId === undefined || !mail.isOn) return
          const [account] = yield* sql<{ email: string }>`SELECT a.email FROM accounts a WHERE a.id = ${accountId}`
          const url = mail.urlOf(linkPath(purpose, token))
          if (account !== undefined) {
            yield* mail.queue("password", account.email, passwordLetter({ isAsked: false, url }))
          }
        })))
        return token
      })

      const createForgotten = Effect.fn("OneTimeLinks.createForgotten")(function* (accountId: string) {
        const token = Tokens.make()
        yield* Effect.orDie(insert(token, "forgotten", accountId, yield* DateTime.nowAsDate))
        return token
      })

      const find = Effect.fn("OneTimeLinks.find")(function* (purpose: Purpose, token: string) {
        const now = yield* DateTime.nowAsDate
        const [row] = yield* Effect.orDie(sql<{ accountId: string | null }>`
          SELECT l.account_id FROM one_time_links l
          WHERE l.digest = ${Tokens.digest(token)} AND l.purpose = ANY(${[...storedPurposes[purpose]]}::text[])
            AND l.expires_at > ${now}`)
        return row === undefined ? yield* new LinkSpent() : row.accountId
      })

      const spend = Effect.fn("OneTimeLinks.spend")(function* (purpose: Purpose, token: string) {
        const now = yield* DateTime.nowAsDate
        const purposes = [...storedPurposes[purpose]]
        const row = yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
          const [spent] = yield* sql<{ accountId: string | null; purpose: StoredPurpose }>`
            DELETE FROM one_time_links l
            WHERE l.digest = ${Tokens.digest(token)} AND l.purpose = ANY(${purposes}::text[]) AND l.expires_at > ${now}
            RETURNING l.account_id, l.purpose`
          if (spent !== undefined) {
            yield* sql`
              DELETE FROM one_time_links l WHERE l.account_id = ${spent.accountId} AND l.purpose = ANY(${purposes}::text[])`
          }
          return spent
        })))
        return row === undefined
          ? yield* new LinkSpent()
          : { accountId: row.accountId, isOwn: row.purpose === "forgotten" }
      })

      return OneTimeLinks.of({ create, createForgotten, find, spend })
    }),
  )
}
