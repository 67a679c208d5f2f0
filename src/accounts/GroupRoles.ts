import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { InvalidInput, type OrganizationNotFound } from "../domain/Errors.ts"
import { type OrgSlug, randomId } from "../domain/Ids.ts"
import { existingOrganization } from "../organizations/Existing.ts"
import { type GroupRole, type GroupRoleInput, reaches, type Role } from "./Account.ts"
import { GroupRoleNotFound } from "./AccountErrors.ts"

/** Maximum number of groups with a role in an organization. */
const maxGroups = 100

/** A role in an organization that a group assigns. */
interface Grant {
  readonly org: OrgSlug
  readonly group: string
  readonly role: Role
}

/** A membership of one account. */
interface Held {
  readonly org: OrgSlug
  readonly role: Role
  /** Null for a member who was invited or added by a person. */
  readonly fromGroup: string | null
}

/** A change of a membership by groups. `kept`: it would have left the organization without an admin. */
export interface GroupChange {
  readonly kind: "added" | "changed" | "removed" | "kept"
  readonly org: OrgSlug
  readonly role: Role
  readonly group: string
}

/** Returns one grant for each organization: the highest role, and among equal roles the first group by name. */
export const highest = (grants: ReadonlyArray<Grant>): ReadonlyMap<OrgSlug, Grant> => {
  const best = new Map<OrgSlug, Grant>()
  for (const grant of [...grants].sort((a, b) => a.group < b.group ? -1 : 1)) {
    const before = best.get(grant.org)
    if (before === undefined || !reaches(before.role, grant.role)) best.set(grant.org, grant)
  }
  return best
}

/**
 * Returns the changes that make memberships follow the groups. Memberships that a person made stay. The only admin of an
 * organization (`onlyAdminOf`) stays an admin.
 */
export const changesOf = (
  held: ReadonlyArray<Held>,
  granted: ReadonlyMap<OrgSlug, Grant>,
  onlyAdminOf: ReadonlySet<OrgSlug>,
): ReadonlyArray<GroupChange> => {
  const known = new Set(held.map(({ org }) => org))
  const added = [...granted.values()].filter(({ org }) => !known.has(org))
  const others = held.flatMap(({ fromGroup, org, role }): ReadonlyArray<GroupChange> => {
    if (fromGroup === null) return []
    const grant = granted.get(org)
    if (grant?.role === role && grant.group === fromGroup) return []
    if (role === "admin" && grant?.role !== "admin" && onlyAdminOf.has(org)) {
      return [{ kind: "kept", org, role, group: fromGroup }]
    }
    return [grant === undefined ? { kind: "removed", org, role, group: fromGroup } : { kind: "changed", ...grant }]
  })
  return [...added.map((grant) => ({ kind: "added" as const, ...grant })), ...others]
}

interface Row {
  readonly id: string
  readonly groupName: string
  readonly role: Role
  readonly members: number
}

const fromRow = ({ groupName, id, members, role }: Row): GroupRole => ({ id, group: groupName, role, members })

/** Returns the organizations among `orgs` whose only admin is this account. Locks their admins. */
const onlyAdmin = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  accountId: string,
  orgs: ReadonlyArray<OrgSlug>,
): Effect.fn.Return<ReadonlySet<OrgSlug>, SqlError> {
  if (orgs.length === 0) return new Set()
  const admins = yield* sql<{ orgSlug: OrgSlug; accountId: string }>`
    SELECT m.org_slug, m.account_id FROM memberships m WHERE m.org_slug = ANY(${orgs}::text[]) AND m.role = 'admin'
    ORDER BY m.org_slug, m.account_id FOR UPDATE`
  return new Set(
    orgs.filter((org) => !admins.some((admin) => admin.orgSlug === org && admin.accountId !== accountId)),
  )
})

/** Makes the changes of an account's memberships. */
const write = (sql: SqlClient.SqlClient, accountId: string, changes: ReadonlyArray<GroupChange>, now: Date) =>
  Effect.forEach(changes, ({ group, kind, org, role }): Effect.Effect<unknown, SqlError> => {
    switch (kind) {
      case "added":
        return sql`
          INSERT INTO memberships (org_slug, account_id, role, created_at, from_group)
          VALUES (${org}, ${accountId}, ${role}, ${now}, ${group}) ON CONFLICT (org_slug, account_id) DO NOTHING`
      case "changed":
        return sql`
          UPDATE memberships m SET role = ${role}, from_group = ${group}
          WHERE m.org_slug = ${org} AND m.account_id = ${accountId} AND m.from_group IS NOT NULL`
      case "removed":
        return sql`
          DELETE FROM memberships m
          WHERE m.org_slug = ${org} AND m.account_id = ${accountId} AND m.from_group IS NOT NULL`
      case "kept":
        return Effect.void
    }
  }, { discard: true })

/**
 * Roles in organizations by groups of the identity provider. Memberships follow the groups at each sign-in there. A
 * membership that a person made never changes.
 */
export class GroupRoles extends Context.Service<GroupRoles, {
  /** Returns the groups with a role, by name. Fails with `OrganizationNotFound` for an unknown organization. */
  readonly list: (org: OrgSlug) => Effect.Effect<ReadonlyArray<GroupRole>, OrganizationNotFound>
  /**
   * Assigns a role to a group. Its members get the role at their next sign-in; members with a role of this group, at once.
   * Fails with `OrganizationNotFound` for an unknown organization, and `InvalidInput` if 100 groups have a role.
   */
  readonly put: (
    org: OrgSlug,
    input: GroupRoleInput,
  ) => Effect.Effect<GroupRole, OrganizationNotFound | InvalidInput>
  /**
   * Takes the role of a group away, and removes its members at once. The only admin of the organization stays, as if a
   * person had added them. Fails with `GroupRoleNotFound` for an unknown group.
   */
  readonly remove: (org: OrgSlug, id: string) => Effect.Effect<void, GroupRoleNotFound>
  /** Whether any group has a role, so that the groups of a person matter. */
  readonly isUsed: Effect.Effect<boolean>
  /** Returns the roles that groups assign. */
  readonly granted: (groups: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<OrgSlug, Grant>>
  /** Makes the memberships of an account follow its groups, and returns the changes. */
  readonly follow: (
    accountId: string,
    groups: ReadonlyArray<string>,
  ) => Effect.Effect<ReadonlyArray<GroupChange>>
}>()("parlance/accounts/GroupRoles") {
  static readonly layer = Layer.effect(
    GroupRoles,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const existing = (org: OrgSlug) => Effect.catchTag(existingOrganization(sql, org), "SqlError", Effect.die)

      const rows = (org: OrgSlug) =>
        Effect.orDie(sql<Row>`
          SELECT g.id, g.group_name, g.role, (SELECT count(*)::int FROM memberships m
            WHERE m.org_slug = g.org_slug AND m.from_group = g.group_name) AS members
          FROM group_roles g WHERE g.org_slug = ${org} ORDER BY g.group_name`)

      const list = Effect.fn("GroupRoles.list")(function* (org: OrgSlug) {
        yield* existing(org)
        return (yield* rows(org)).map(fromRow)
      })

      /** The only admin of the organization, if that role came from the group. Locks all admins. */
      const onlyAdminFrom = Effect.fnUntraced(function* (org: OrgSlug, group: string) {
        const admins = yield* sql<{ accountId: string; fromGroup: string | null }>`
          SELECT m.account_id, m.from_group FROM memberships m WHERE m.org_slug = ${org} AND m.role = 'admin'
          ORDER BY m.account_id FOR UPDATE`
        // If the group has all admins, the first of them stays.
        return admins.every(({ fromGroup }) => fromGroup === group) ? admins[0]?.accountId : undefined
      })

      const put = Effect.fn("GroupRoles.put")(function* (org: OrgSlug, { group, role }: GroupRoleInput) {
        const before = yield* list(org)
        if (before.length >= maxGroups && !before.some((one) => one.group === group)) {
          return yield* new InvalidInput({
            faults: [{ pointer: "/group", detail: `would be one of more than ${maxGroups} groups with a role` }],
          })
        }
        const now = yield* DateTime.nowAsDate
        yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
          yield* sql`
            INSERT INTO group_roles AS g (org_slug, id, group_name, role, created_at)
            VALUES (${org}, ${randomId("grp")}, ${group}, ${role}, ${now})
            ON CONFLICT (org_slug, group_name) DO UPDATE SET role = EXCLUDED.role`
          const kept = role === "admin" ? undefined : yield* onlyAdminFrom(org, group)
          yield* sql`
            UPDATE memberships m SET role = ${role} WHERE m.org_slug = ${org} AND m.from_group = ${group}
              AND m.account_id IS DISTINCT FROM ${kept ?? null}::text`
        })))
        return fromRow((yield* rows(org)).find(({ groupName }) => groupName === group)!)
      })

      const remove = Effect.fn("GroupRoles.remove")(function* (org: OrgSlug, id: string) {
        const removed = yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
          const [gone] = yield* sql<Pick<Row, "groupName">>`
            DELETE FROM group_roles g WHERE g.org_slug = ${org} AND g.id = ${id} RETURNING g.group_name`
          if (gone === undefined) return false
          const kept = yield* onlyAdminFrom(org, gone.groupName)
          yield* sql`
            UPDATE memberships m SET from_group = NULL WHERE m.org_slug = ${org} AND m.account_id = ${
            kept ?? null
          }::text`
          yield* sql`DELETE FROM memberships m WHERE m.org_slug = ${org} AND m.from_group = ${gone.groupName}`
          return true
        })))
        if (!removed) return yield* new GroupRoleNotFound({ id })
      })

      const grantsOf = (groups: ReadonlyArray<string>, locking = sql``) =>
        Effect.map(
          sql<Grant>`
            SELECT g.org_slug AS org, g.group_name AS group, g.role FROM group_roles g
            WHERE g.group_name = ANY(${[...groups]}::text[]) ORDER BY g.org_slug, g.id ${locking}`,
          highest,
        )

      const granted = Effect.fn("GroupRoles.granted")((groups: ReadonlyArray<string>) => Effect.orDie(grantsOf(groups)))

      const follow = Effect.fn("GroupRoles.follow")(
        function* (accountId: string, groups: ReadonlyArray<string>) {
          const now = yield* DateTime.nowAsDate
          return yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
            // Locked, so that a group that an admin removes at the same time assigns no role that stays.
            const granted = yield* grantsOf(groups, sql`FOR SHARE`)
            const held = yield* sql<Held>`
              SELECT m.org_slug AS org, m.role, m.from_group FROM memberships m WHERE m.account_id = ${accountId}`
            const losing = held.filter(({ fromGroup, org, role }) =>
              fromGroup !== null && role === "admin" && granted.get(org)?.role !== "admin"
            )
            const only = yield* onlyAdmin(sql, accountId, losing.map(({ org }) => org))
            const changes = changesOf(held, granted, only)
            yield* write(sql, accountId, changes, now)
            return changes
          })))
        },
      )

      return GroupRoles.of({
        list,
        put,
        remove,
        isUsed: Effect.map(
          Effect.orDie(sql`SELECT FROM group_roles g LIMIT 1`),
          (found) => found.length > 0,
        ),
        granted,
        follow,
      })
    }),
  )
}
