import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { organizationRows } from "../organizations/OrganizationRows.ts"
import { type OrgSlug, randomId } from "../domain/Ids.ts"
import type { Account, Role, SessionInfo, SignInMethod } from "./Account.ts"
import { SessionNotFound } from "./AccountErrors.ts"
import { csrfTokenOf } from "./CsrfToken.ts"
import { secondFactorColumn } from "./RecoveryCodes.ts"
import * as Tokens from "./Tokens.ts"

/** Time without use after which a session ends. Unit: milliseconds. */
export const idleMillis = 12 * 3_600_000

/** Maximum duration of a session. Unit: milliseconds. */
export const absoluteMillis = 30 * 86_400_000

/** Resolution of the time of a session's last use. Unit: milliseconds. */
const seenEveryMillis = 60_000

/** The signed-in account with its roles, as stored now. */
export interface SignedIn {
  readonly sessionId: string
  /** The value for forms and `X-CSRF-Token`, in another form each time. Compare it with `sameCsrfToken`. */
  readonly csrfToken: string
  readonly account: Pick<Account, "id" | "email" | "name" | "administrator" | "language">
  readonly roles: ReadonlyMap<OrgSlug, Role>
  /** The way in which the session began. Null for a session of an earlier release. */
  readonly method: SignInMethod | null
  /** Start of the session. Unit: Unix milliseconds. */
  readonly startedMillis: number
  /**
   * Whether the account has a second factor, or the session began at the identity provider, which is responsible for
   * second factors of its sign-ins.
   */
  readonly hasSecondFactor: boolean
  /** Organizations that require a second factor. Empty if the session has one. */
  readonly closedTo: ReadonlySet<string>
}

/** The client of a session, as shown in the account's list of sessions. */
export interface Client {
  readonly userAgent: string
  readonly address: string
  /** The cookie of a browser that signed in before, see `Devices`. */
  readonly deviceCookie?: string | undefined
}

/** How a session begins. */
export interface Beginning {
  readonly method: SignInMethod
  /**
   * Time at which the matching password was set. The session does not begin if the password has been replaced or
   * removed since.
   */
  readonly passwordSetAt?: Date | null
}

interface Row {
  readonly id: string
  readonly accountId: string
  readonly userAgent: string
  readonly address: string
  readonly method: SignInMethod | null
  readonly createdAt: Date
  readonly lastSeenAt: Date
  readonly expiresAt: Date
}

interface SignedInRow extends Row {
  readonly email: string
  readonly name: string
  readonly administrator: boolean
  readonly language: string | null
  readonly orgs: ReadonlyArray<OrgSlug>
  readonly roles: ReadonlyArray<Role>
  readonly secondFactor: boolean
  readonly requiring: ReadonlyArray<string>
}

/** Console sessions: a random token in a cookie, its digest in the store. */
export class Sessions extends Context.Service<Sessions, {
  /** Starts a session and returns the token for the cookie. Undefined if `passwordSetAt` is outdated. */
  readonly start: (accountId: string, client: Client, beginning: Beginning) => Effect.Effect<string | undefined>
  /** Returns the account of a token. Undefined for a token that is unknown, ended, idle for 12 hours or 30 days old. */
  readonly resolve: (token: string) => Effect.Effect<SignedIn | undefined>
  /** Counts a session as begun now by a passkey, because its person has just used one. */
  readonly renew: (id: string) => Effect.Effect<void>
  /** Ends the token's session, if it exists. */
  readonly end: (token: string) => Effect.Effect<void>
  /** Returns an account's live sessions, last used first. */
  readonly list: (accountId: string, currentId?: string) => Effect.Effect<ReadonlyArray<SessionInfo>>
  /** Ends a session of an account. Fails with `SessionNotFound` for an unknown session. */
  readonly revoke: (accountId: string, id: string) => Effect.Effect<void, SessionNotFound>
  /** Ends every session of an account except `keptId`, as after a change of its password. */
  readonly revokeAll: (accountId: string, keptId?: string) => Effect.Effect<void>
}>()("parlance/accounts/Sessions") {
  static readonly layer = Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      /** Stores the day on which the account was last used. */
      const seen = (accountId: string, now: Date) => {
        const day = sql`${now.toISOString().slice(0, 10)}::date`
        return Effect.orDie(sql`
          UPDATE accounts a SET last_seen_on = ${day}
          WHERE a.id = ${accountId} AND coalesce(a.last_seen_on < ${day}, true)`)
      }

      const start = Effect.fn("Sessions.start")(function* (
        accountId: string,
        client: Client,
        { method, passwordSetAt }: Beginning,
      ) {
        const now = yield* DateTime.nowAsDate
        const token = Tokens.make()
        const idle = new Date(now.getTime() - idleMillis)
        // Lock the row, so that a concurrent password change commits before the password is read.
        const unchanged = passwordSetAt === undefined
          ? sql``
          : sql`AND a.password_set_at IS NOT DISTINCT FROM ${passwordSetAt}::timestamptz`
        const rows = yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
          yield* sql`DELETE FROM sessions s WHERE s.expires_at <= ${now} OR s.last_seen_at <= ${idle}`
          return yield* sql`
            INSERT INTO sessions (id, digest, account_id, user_agent, address, method, created_at, last_seen_at, expires_at)
            SELECT ${randomId("ses")}, ${Tokens.digest(token)}, a.id, ${client.userAgent.slice(0, 300)},
              ${client.address.slice(0, 100)}, ${method}, ${now}::timestamptz, ${now}::timestamptz,
              ${new Date(now.getTime() + absoluteMillis)}::timestamptz
            FROM accounts a WHERE a.id = ${accountId} ${unchanged} FOR SHARE OF a RETURNING sessions.id`
        })))
        if (rows.length === 0) return undefined
        yield* seen(accountId, now)
        return token
      })

      const resolve = Effect.fn("Sessions.resolve")(function* (token: string) {
        if (!Tokens.isToken(token)) return undefined
        const now = yield* DateTime.nowAsDate
        const [row] = yield* Effect.orDie(sql<SignedInRow>`
          SELECT s.id, s.account_id, s.last_seen_at, s.method, s.created_at, a.email, a.name, a.administrator,
            a.language,
            ${secondFactorColumn(sql)},
            ARRAY(SELECT o.slug FROM ${
          sql.literal(organizationRows("require_second_factor"))
        } WHERE o.require_second_factor) AS requiring,
            ARRAY(SELECT m.org_slug FROM memberships m WHERE m.account_id = a.id ORDER BY m.org_slug) AS orgs,
            ARRAY(SELECT m.role FROM memberships m WHERE m.account_id = a.id ORDER BY m.org_slug) AS roles
          FROM sessions s JOIN accounts a ON a.id = s.account_id
          WHERE s.digest = ${Tokens.digest(token)} AND s.expires_at > ${now}
            AND s.last_seen_at > ${new Date(now.getTime() - idleMillis)}`)
        if (row === undefined) return undefined
        if (now.getTime() - row.lastSeenAt.getTime() > seenEveryMillis) {
          yield* Effect.orDie(sql`UPDATE sessions s SET last_seen_at = ${now} WHERE s.id = ${row.id}`)
          yield* seen(row.accountId, now)
        }
        const { accountId, administrator, createdAt, email, id, language, method, name, orgs } = row
        const { requiring, roles, secondFactor } = row
        const hasSecondFactor = secondFactor || method === "openid"
        return {
          sessionId: id,
          csrfToken: csrfTokenOf(token),
          account: { id: accountId, email, name, administrator, language },
          roles: new Map(orgs.map((org, index) => [org, roles[index]!] as const)),
          method,
          startedMillis: createdAt.getTime(),
          hasSecondFactor,
          closedTo: new Set(hasSecondFactor ? [] : requiring),
        }
      })

      const list = Effect.fn("Sessions.list")(function* (accountId: string, currentId?: string) {
        const now = yield* DateTime.nowAsDate
        const rows = yield* Effect.orDie(sql<Row>`
          SELECT s.* FROM sessions s WHERE s.account_id = ${accountId} AND s.expires_at > ${now}
            AND s.last_seen_at > ${new Date(now.getTime() - idleMillis)} ORDER BY s.last_seen_at DESC, s.id`)
        return rows.map((row): SessionInfo => ({
          id: row.id,
          user_agent: row.userAgent,
          address: row.address,
          method: row.method,
          created_at: row.createdAt.toISOString(),
          last_seen_at: row.lastSeenAt.toISOString(),
          expires_at: row.expiresAt.toISOString(),
          current: row.id === currentId,
        }))
      })

      const revoke = Effect.fn("Sessions.revoke")(function* (accountId: string, id: string) {
        const gone = yield* Effect.orDie(
          sql`DELETE FROM sessions s WHERE s.account_id = ${accountId} AND s.id = ${id} RETURNING s.id`,
        )
        if (gone.length === 0) return yield* new SessionNotFound({ id })
      })

      return Sessions.of({
        start,
        resolve,
        renew: Effect.fn("Sessions.renew")(function* (id: string) {
          const now = yield* DateTime.nowAsDate
          yield* Effect.orDie(sql`UPDATE sessions s SET created_at = ${now}, method = 'passkey' WHERE s.id = ${id}`)
        }),
        end: Effect.fn("Sessions.end")((token: string) =>
          Effect.asVoid(Effect.orDie(sql`DELETE FROM sessions s WHERE s.digest = ${Tokens.digest(token)}`))
        ),
        list,
        revoke,
        revokeAll: Effect.fn("Sessions.revokeAll")((accountId: string, keptId?: string) =>
          Effect.asVoid(Effect.orDie(sql`
            DELETE FROM sessions s WHERE s.account_id = ${accountId} AND s.id IS DISTINCT FROM ${
            keptId ?? null
          }::text`))
        ),
      })
    }),
  )
}
