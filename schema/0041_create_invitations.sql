-- An invitation: the holder of the link whose token has this digest may join the organization, once.
CREATE TABLE IF NOT EXISTS invitations (
  id text PRIMARY KEY,
  org_slug text NOT NULL REFERENCES organizations (slug),
  email text NOT NULL,
  role text NOT NULL,
  digest text NOT NULL UNIQUE,
  invited_by text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  accepted_at timestamptz
);
CREATE INDEX IF NOT EXISTS invitations_org_slug_idx ON invitations (org_slug);
CREATE INDEX IF NOT EXISTS invitations_email_idx ON invitations (email);
-- One-time links: `first_run` makes the first administrator, `password` lets an account choose a new password.
CREATE TABLE IF NOT EXISTS one_time_links (
  digest text PRIMARY KEY,
  purpose text NOT NULL,
  account_id text REFERENCES accounts (id) ON DELETE CASCADE,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
