import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { GroupRole, GroupRoleInput } from "../../accounts/Account.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"

// The part of the management API about roles by groups of the identity provider.

const path = { org: Schema.String }
const at = "/organizations/:org/group-roles" as const

/** Endpoints of roles by groups. */
export class GroupRolesGroup extends managementGroup(
  "groupRoles",
  "Roles by groups of the identity provider",
  {
    listGroupRoles: reads("viewer", "admin"),
    putGroupRole: writes("admin", "role of a group set", "admin"),
    deleteGroupRole: writes("admin", "role of a group removed", "admin"),
  },
  HttpApiEndpoint.get("listGroupRoles", at, {
    params: path,
    success: Schema.Struct({ group_roles: Schema.Array(GroupRole) }),
    error: Problems.OrganizationNotFound,
  }).annotate(OpenApi.Summary, "The groups with a role in an organization, by name"),
  HttpApiEndpoint.put("putGroupRole", at, {
    params: path,
    payload: GroupRoleInput,
    success: GroupRole,
    error: [...Problems.ofBody, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Assigns a role to a group of the identity provider").annotate(
    OpenApi.Description,
    "Memberships follow the groups at each sign-in through OpenID Connect: the highest role counts. A changed role holds " +
      "at once for members from this group. Members that a person added stay as they are. An organization has at most 100 groups.",
  ),
  HttpApiEndpoint.delete("deleteGroupRole", `${at}/:group_role`, {
    params: { ...path, group_role: Schema.String },
    success: HttpApiSchema.NoContent,
    error: [Problems.OrganizationNotFound, Problems.GroupRoleNotFound],
  }).annotate(OpenApi.Summary, "Takes the role of a group away").annotate(
    OpenApi.Description,
    "Members from this group lose access at once. The only admin of the organization stays.",
  ),
) {}
