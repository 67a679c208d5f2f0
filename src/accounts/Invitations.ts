import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { OrganizationNotFound } from "../domain/Errors.ts"
import { type OrgSlug, randomId } from "../domain/Ids.ts"
import { invitationLetter } from "../mail/Letters.ts"
import { MailQueue } from "../mail/MailQueue.ts"
import { existingOrganization } from "../organizations/Existing.ts"
import { type Account, type Invitation, normalizeEmail, type Role } from "./Account.ts"
import { InvitationNotFound } from "./AccountErrors.ts"
import * as Tokens from "./Tokens.ts"

/** Time for which a link is valid. Unit: days. */
export const validDays = 7

/** Path of the page where an invitation is accepted. */
export const invitationPath = (token: string): string => `/console/invitation?token=${token}`

interface Row {
  readonly id: string
  readonly orgSlug: OrgSlug
  readonly email: string
  readonly role: Role
  readonly invitedBy: string
  readonly createdAt: Date
  readonly expiresAt: Date
}

const fromRow = (row: Row): Invitation => ({
  id: row.id,
  email: row.email,
  role: row.role,
  invited_by: row.invitedBy,
  created_at: row.createdAt.toISOString(),
  expires_at: row.expiresAt.toISOString(),
})

/** Invitations to join an organization. A link works once, within 7 days. Only a digest of it is stored. */
export class Invitations extends Context.Service<Invitations, {
  /**
   * Creates an invitation. Only this response contains `token`. Replaces an earlier open invitation of the address.
   * Mails the link if a mail server is configured. Fails with `OrganizationNotFound` for an unknown organization.
   */
  readonly create: (
    org: OrgSlug,
    input: { readonly email: string; readonly role: Role; readonly invitedBy: string },
  ) => Effect.Effect<Invitation & { readonly token: string }, OrganizationNotFound>
  /**
   * Creates an invitation for each of `emails`, or none if one cannot be created. Otherwise like `create`. Fails with
   * `OrganizationNotFound` for an unknown organization.
   */
  readonly createAll: (
    org: OrgSlug,
    input: { readonly emails: ReadonlyArray<string>; readonly role: Role; readonly invitedBy: string },
  ) => Effect.Effect<ReadonlyArray<Invitation & { readonly token: string }>, OrganizationNotFound>
  /** Returns the open invitations, newest first. Fails with `OrganizationNotFound` for an unknown organization. */
  readonly list: (org: OrgSlug) => Effect.Effect<ReadonlyArray<Invitation>, OrganizationNotFound>
  /** Revokes an invitation. Fails with `InvitationNotFound` if the invitation is unknown, used or expired. */
  readonly revoke: (org: OrgSlug, id: string) => Effect.Effect<void, InvitationNotFound>
  /**
   * Returns the invitation of a link. Fails with `InvitationNotFound` if the invitation is unknown, used or expired.
   */
  readonly find: (token: string) => Effect.Effect<Invitation & { readonly org: OrgSlug }, InvitationNotFound>
  /**
   * Makes the account a member and uses up the link, in one transaction. A higher existing role is kept. Otherwise the
   * member no longer follows groups of the identity provider. Fails with `InvitationNotFound` if the invitation is unknown, used or expired.
   */
  readonly accept: (token: string, account: Account) => Effect.Effect<OrgSlug, InvitationNotFound>
  /**
   * Accepts every open invitation to the account's address. Requires that the address has been verified by other means.
   */
  readonly acceptAll: (account: Account) => Effect.Effect<ReadonlyArray<OrgSlug>>
  /** Whether the address has an open invitation. */
  readonly isInvited: (email: string) => Effect.Effect<boolean>
}>()("parlance/accounts/Invitations") {
  static readonly layer = Layer.effect(
    Invitations,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const mail = yield* MailQueue

      const existing = (org: OrgSlug) => Effect.catchTag(existingOrganization(sql, org), "SqlError", Effect.die)

      const create = Effect.fn("Invitations.create")(function* (
        org: OrgSlug,
        input: { readonly email: string; readonly role: Role; readonly invitedBy: string },
      ) {
        yield* existing(org)
        const now = yield* DateTime.nowAsDate
        const email = normalizeEmail(input.email)
        const token = Tokens.make()
        const expiresAt = new Date(now.getTime() + validDays * 86_400_000)
        const { invitedBy, role } = input
        const url = mail.urlOf(invitationPath(token))
        const rows = yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
          yield* sql`
            DELETE FROM invitations i WHERE i.org_slug = ${org} AND i.email = ${email} AND i.accepted_at IS NULL`
          yield* mail.queue("invitation", email, invitationLetter({ org, role, invitedBy, url, days: validDays }))
          return yield* sql<Row>`
            INSERT INTO invitations AS i (id, org_slug, email, role, digest, invited_by, created_at, expires_at)
            VALUES (${randomId("inv")}, ${org}, ${email}, ${role}, ${Tokens.digest(token)}, ${invitedBy},
              ${now}, ${expiresAt}) RETURNING i.*`
        })))
        return { ...fromRow(rows[0]!), token }
      })

      const list = Effect.fn("Invitations.list")(function* (org: OrgSlug) {
        yield* existing(org)
        const now = yield* DateTime.nowAsDate
        const rows = yield* Effect.orDie(sql<Row>`
          SELECT i.* FROM invitations i WHERE i.org_slug = ${org} AND i.accepted_at IS NULL AND i.expires_at > ${now}
          ORDER BY i.created_at DESC, i.id`)
        return rows.map(fromRow)
      })

      const revoke = Effect.fn("Invitations.revoke")(function* (org: OrgSlug, id: string) {
        const gone = yield* Effect.orDie(sql`
          DELETE FROM invitations i WHERE i.org_slug = ${org} AND i.id = ${id} AND i.accepted_at IS NULL RETURNING i.id`)
        if (gone.length === 0) return yield* new InvitationNotFound({ id })
      })

      const find = Effect.fn("Invitations.find")(function* (token: string) {
        if (!Tokens.isToken(token)) return yield* new InvitationNotFound({ id: "" })
        const now = yield* DateTime.nowAsDate
        const [row] = yield* Effect.orDie(sql<Row>`
          SELECT i.* FROM invitations i
          WHERE i.digest = ${Tokens.digest(token)} AND i.accepted_at IS NULL AND i.expires_at > ${now}`)
        return row === undefined ? yield* new InvitationNotFound({ id: "" }) : { ...fromRow(row), org: row.orgSlug }
      })

      const isHigher = sql`array_position(ARRAY['viewer', 'editor', 'admin'], EXCLUDED.role) >=
        array_position(ARRAY['viewer', 'editor', 'admin'], m.role)`

      /** Uses up open invitations and makes `account` a member of their organizations. */
      const spend = (account: Account, digest: string | null) =>
        Effect.flatMap(DateTime.nowAsDate, (now) =>
          sql<{ orgSlug: OrgSlug }>`
            WITH spent AS (
              UPDATE invitations i SET accepted_at = ${now}
              WHERE i.accepted_at IS NULL AND i.expires_at > ${now} AND i.email = ${account.email}
                AND (${digest}::text IS NULL OR i.digest = ${digest}::text)
              RETURNING i.org_slug, i.role)
            INSERT INTO memberships AS m (org_slug, account_id, role, created_at)
            SELECT s.org_slug, ${account.id}, s.role, ${now} FROM spent s
            ON CONFLICT (org_slug, account_id) DO UPDATE SET
              role = CASE WHEN ${isHigher} THEN EXCLUDED.role ELSE m.role END,
              from_group = CASE WHEN ${isHigher} THEN NULL ELSE m.from_group END
            RETURNING m.org_slug`).pipe(Effect.orDie)

      const accept = Effect.fn("Invitations.accept")(function* (token: string, account: Account) {
        const [row] = yield* spend(account, Tokens.digest(token))
        return row === undefined ? yield* new InvitationNotFound({ id: "" }) : row.orgSlug
      })

      return Invitations.of({
        create,
        createAll: Effect.fn("Invitations.createAll")((org, { emails, ...input }) =>
          sql.withTransaction(Effect.forEach(emails, (email) => create(org, { ...input, email }))).pipe(
            Effect.catchTag("SqlError", Effect.die),
          )
        ),
        list,
        revoke,
        find,
        accept,
        acceptAll: Effect.fn("Invitations.acceptAll")((account: Account) =>
          Effect.map(spend(account, null), (rows) => rows.map(({ orgSlug }) => orgSlug))
        ),
        isInvited: Effect.fn("Invitations.isInvited")(function* (email: string) {
          const now = yield* DateTime.nowAsDate
          const rows = yield* Effect.orDie(sql`
            SELECT 1 FROM invitations i WHERE i.email = ${normalizeEmail(email)} AND i.accepted_at IS NULL
              AND i.expires_at > ${now} LIMIT 1`)
          return rows.length > 0
        }),
      })
    }),
  )
}
