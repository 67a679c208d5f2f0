import { Effect } from "effect"
import { GroupRoles } from "../../accounts/GroupRoles.ts"
import { managed } from "../http/Managed.ts"

/** Serves `GroupRolesGroup`. */
export const layer = managed(
  "groupRoles",
  Effect.gen(function* () {
    const groups = yield* GroupRoles
    return {
      listGroupRoles: ({ org }) => Effect.map(groups.list(org), (all) => ({ group_roles: all })),
      putGroupRole: ({ body, org }) => groups.put(org, body),
      deleteGroupRole: ({ org, params }) => groups.remove(org, params.group_role),
    }
  }),
)
