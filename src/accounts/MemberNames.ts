import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { accountOf } from "./Author.ts"

/** A person whose name can be shown in an organization. */
export interface NamedMember {
  readonly id: string
  readonly name: string
  readonly email: string
  /**
   * False for administrators of the installation who are not members. They can act, but are not offered for mentions.
   */
  readonly isMember: boolean
}

/** Name shown for a person who is no longer a member. */
export const formerMember = "former member"

/**
 * Returns the name of an author: of a present member, or `former member`. Names are read again for each display, so
 * that names of people who have left are not stored.
 */
export const nameOfAuthor = (author: string, members: ReadonlyMap<string, NamedMember>): string => {
  const id = accountOf(author)
  if (id !== undefined) return members.get(id)?.name ?? formerMember
  return author === "token" ? "Admin token" : `API key ${author.slice("key:".length)}`
}

/** Names of the members of organizations. A broken store is a defect. */
export class MemberNames extends Context.Service<MemberNames, {
  /**
   * Returns the members of an organization and the administrators of the installation, by account id, sorted by name.
   */
  readonly of: (org: string) => Effect.Effect<ReadonlyMap<string, NamedMember>>
}>()("parlance/accounts/MemberNames") {
  static readonly layer = Layer.effect(
    MemberNames,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const of = Effect.fn("MemberNames.of")(function* (org: string) {
        const rows = yield* Effect.orDie(sql<NamedMember>`
          SELECT a.id, a.name, a.email, m.account_id IS NOT NULL AS is_member
          FROM accounts a LEFT JOIN memberships m ON m.account_id = a.id AND m.org_slug = ${org}
          WHERE a.administrator OR m.account_id IS NOT NULL
          ORDER BY a.name, a.email`)
        return new Map(rows.map((row) => [row.id, row]))
      })
      return MemberNames.of({ of })
    }),
  )
}
