-- Named people of an organization for previews and test messages.
CREATE TABLE IF NOT EXISTS sample_people (
  org_slug text NOT NULL REFERENCES organizations (slug),
  id text NOT NULL,
  name text NOT NULL,
  -- Whose profile is added to the attributes.
  user_id text,
  attrs json NOT NULL,
  fields json NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, id)
);
