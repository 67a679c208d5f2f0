-- Reports of platforms about end users: traits by name, each with the time of its report, since reports come in any
-- order.
CREATE TABLE IF NOT EXISTS profiles (
  org_slug text NOT NULL,
  user_id text NOT NULL,
  email text,
  traits json NOT NULL,
  reported_at json NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, user_id)
);
