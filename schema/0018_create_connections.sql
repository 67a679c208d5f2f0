CREATE TABLE IF NOT EXISTS connections (
  org_slug text NOT NULL REFERENCES organizations (slug),
  name text NOT NULL,
  platform text NOT NULL,
  settings json NOT NULL,
  -- Sealed under SECRET_KEY, each by its name.
  secrets json NOT NULL,
  enabled boolean NOT NULL,
  paused boolean NOT NULL,
  -- The enabled connection that carries messages.
  is_default boolean NOT NULL,
  -- The last problem that its lane saw; null without one.
  trouble json,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, name)
);
