-- A person who works in the console. `email` is lowercase; `password` is the scrypt hash with its parameters, null until
-- one has been chosen. Administrators of the installation may do everything in every organization.
CREATE TABLE IF NOT EXISTS accounts (
  id text PRIMARY KEY,
  email text NOT NULL UNIQUE,
  name text NOT NULL,
  password text,
  administrator boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
-- The role of an account in an organization: viewer, editor or admin.
CREATE TABLE IF NOT EXISTS memberships (
  org_slug text NOT NULL REFERENCES organizations (slug),
  account_id text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  role text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, account_id)
);
CREATE INDEX IF NOT EXISTS memberships_account_id_idx ON memberships (account_id);
