-- Named recipients of test messages.
CREATE TABLE IF NOT EXISTS test_groups (
  org_slug text NOT NULL REFERENCES organizations (slug),
  id text NOT NULL,
  name text NOT NULL,
  emails text[] NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, id)
);
