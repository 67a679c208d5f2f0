-- Roles that groups of the identity provider give in an organization. Admins of the organization change them.
CREATE TABLE IF NOT EXISTS group_roles (
  org_slug text NOT NULL REFERENCES organizations (slug),
  id text NOT NULL,
  -- As the provider sends it, up to 255 characters.
  group_name text NOT NULL,
  -- viewer, editor or admin.
  role text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, id)
);
CREATE UNIQUE INDEX IF NOT EXISTS group_roles_by_name ON group_roles (org_slug, group_name);

-- The group that gave the role at the last sign-in through the provider. NULL for a member that a person invited or added.
ALTER TABLE memberships ADD COLUMN IF NOT EXISTS from_group text;
