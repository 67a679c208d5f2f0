import { Argument } from "effect/cli"
import { GroupRoleInput, Role } from "../accounts/Account.ts"
import { call, commandGroup, steps } from "./ApiCommand.ts"
import { CommandFailed } from "./Connection.ts"
import { argument } from "./Flags.ts"
import { organization } from "./Root.ts"

const group = argument("group", "The group, as the identity provider sends it")

/** `parlance group-role …` */
export const groupRoleCommand = commandGroup("group-role", "Roles by groups of the identity provider", {
  list: call("listGroupRoles", "List the groups with a role")
    .result(({ group_roles: all }) => all)
    .table({ group: "group", role: "role", members: "members" }, "No group has a role"),

  set: call("putGroupRole", "Assign a role to a group. Its members get the role when they next sign in", {
    group,
    role: Argument.Literals("role", Role.literals).pipe(Argument.withDescription("viewer, editor or admin")),
  }).checks(GroupRoleInput).examples("parlance group-role set crm-editors editor")
    .text(({ group, role }) => `Members of ${group} are ${role}`),

  remove: steps("Take the role of a group away. Its members lose access at once", { group }, function* (client, given) {
    const params = { org: yield* organization }
    const { group_roles: all } = yield* client.listGroupRoles({ params })
    const found = all.find(({ group }) => group === given.group)
    if (found === undefined) {
      return yield* new CommandFailed({
        message: `The group ${JSON.stringify(given.group)} has no role. \`parlance group-role list\` lists all groups.`,
      })
    }
    yield* client.deleteGroupRole({ params: { ...params, group_role: found.id } })
    return found
  }).result(({ group, members }) => ({ group, members, removed: true }))
    .text(({ group }) => `Members of ${group} have no role from it any more`),
})
