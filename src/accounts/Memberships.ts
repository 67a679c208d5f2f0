import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { OrganizationNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { existingOrganization } from "../organizations/Existing.ts"
import type { Member, Role } from "./Account.ts"
import { AccountNotFound, NotOneself } from "./AccountErrors.ts"
import type { Actor } from "./Actor.ts"
import { secondFactorColumn } from "./RecoveryCodes.ts"

interface Row {
  readonly accountId: string
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly secondFactor: boolean
  readonly fromGroup: string | null
  readonly createdAt: Date
  readonly lastSeenOn: string | null
}

const fromRow = (row: Row): Member => ({
  account_id: row.accountId,
  email: row.email,
  name: row.name,
  role: row.role,
  second_factor: row.secondFactor,
  from_group: row.fromGroup,
  since: row.createdAt.toISOString(),
  last_seen_on: row.lastSeenOn,
})

/** Roles of accounts in organizations. A change takes effect with the next request. */
export class Memberships extends Context.Service<Memberships, {
  /** Returns the members, sorted by e-mail address. Fails with `OrganizationNotFound` for an unknown organization. */
  readonly list: (org: OrgSlug) => Effect.Effect<ReadonlyArray<Member>, OrganizationNotFound>
  /**
   * Sets the role of a member, which no longer follows groups of the identity provider. By the admin token or an administrator of the installation, also makes any account a
   * member. Fails with `NotOneself` if the caller is that member, so that an organization cannot lose its last admin by
   * a slip. Fails with `OrganizationNotFound` for an unknown organization, and `AccountNotFound` for an unknown
   * account.
   */
  readonly put: (
    org: OrgSlug,
    account: string,
    role: Role,
    by: Actor,
  ) => Effect.Effect<Member, OrganizationNotFound | AccountNotFound | NotOneself>
  /**
   * Removes a member. Fails with `AccountNotFound` for an unknown account and `NotOneself` if the caller is that
   * member.
   */
  readonly remove: (org: OrgSlug, account: string, by: Actor) => Effect.Effect<void, AccountNotFound | NotOneself>
}>()("parlance/accounts/Memberships") {
  static readonly layer = Layer.effect(
    Memberships,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const existing = (org: OrgSlug) => Effect.catchTag(existingOrganization(sql, org), "SqlError", Effect.die)

      const secondFactor = secondFactorColumn(sql)

      const members = (org: OrgSlug) =>
        Effect.orDie(sql<Row>`
          SELECT m.account_id, a.email, a.name, m.role, m.created_at, m.from_group,
            a.last_seen_on::text AS last_seen_on, ${secondFactor}
          FROM memberships m JOIN accounts a ON a.id = m.account_id WHERE m.org_slug = ${org} ORDER BY a.email`)

      const notOneself = (account: string, by: Actor) =>
        by.kind === "session" && by.session.account.id === account && !by.session.account.administrator
          ? Effect.fail(
            new NotOneself({ message: "You cannot change your own role or remove yourself; another admin can." }),
          )
          : Effect.void

      const list = Effect.fn("Memberships.list")(function* (org: OrgSlug) {
        yield* existing(org)
        return (yield* members(org)).map(fromRow)
      })

      const put = Effect.fn("Memberships.put")(function* (org: OrgSlug, account: string, role: Role, by: Actor) {
        const now = yield* DateTime.nowAsDate
        yield* notOneself(account, by)
        yield* existing(org)
        const mayAdd = by.kind === "token" || (by.kind === "session" && by.session.account.administrator)
        const [row] = yield* Effect.orDie(sql<Row>`
          WITH written AS (
            INSERT INTO memberships AS m (org_slug, account_id, role, created_at)
            SELECT ${org}, a.id, ${role}, ${now} FROM accounts a WHERE a.id = ${account}
              AND (${mayAdd} OR EXISTS (
                SELECT 1 FROM memberships n WHERE n.org_slug = ${org} AND n.account_id = a.id))
            ON CONFLICT (org_slug, account_id) DO UPDATE SET role = EXCLUDED.role, from_group = NULL
            RETURNING m.account_id, m.role, m.created_at, m.from_group)
          SELECT w.account_id, a.email, a.name, w.role, w.created_at, w.from_group,
            a.last_seen_on::text AS last_seen_on, ${secondFactor} FROM written w JOIN accounts a ON a.id = w.account_id`)
        return row === undefined ? yield* new AccountNotFound({ id: account }) : fromRow(row)
      })

      const remove = Effect.fn("Memberships.remove")(function* (org: OrgSlug, account: string, by: Actor) {
        yield* notOneself(account, by)
        const gone = yield* Effect.orDie(sql`
          DELETE FROM memberships m WHERE m.org_slug = ${org} AND m.account_id = ${account} RETURNING m.account_id`)
        if (gone.length === 0) return yield* new AccountNotFound({ id: account })
      })

      return Memberships.of({ list, put, remove })
    }),
  )
}
