import { organizationRows } from "../organizations/OrganizationRows.ts"
import type { Role } from "./Account.ts"

// People of organizations, for SQL in other folders.

/** Roles that include the permissions of each role. */
export const rolesFrom: { readonly [role in Role]: ReadonlyArray<Role> } = {
  viewer: ["viewer", "editor", "admin"],
  editor: ["editor", "admin"],
  admin: ["admin"],
}

/**
 * SQL for the people who may see organizations, as a table `p` within a larger statement: `org_slug`, `account_id` and
 * `role`. An administrator of the installation who is not a member has the role `administrator`. PostgreSQL merges it
 * into the statement.
 */
export const organizationPeople = `(
  SELECT m.org_slug, m.account_id, m.role FROM memberships m
  UNION ALL
  SELECT g.slug, a.id, 'administrator' FROM accounts a CROSS JOIN (
    SELECT o.slug FROM ${organizationRows("sandbox_of")} WHERE o.sandbox_of IS NULL) g
  WHERE a.administrator AND NOT EXISTS (
    SELECT 1 FROM memberships n WHERE n.org_slug = g.slug AND n.account_id = a.id)) p`
