-- A messaging platform of an organization: whether its webhooks are taken, the secrets they are signed with
-- (encrypted, newest first, with the time until which an older one is still accepted), and further settings.
CREATE TABLE IF NOT EXISTS webhook_sources (
  org_slug text NOT NULL REFERENCES organizations (slug),
  source text NOT NULL,
  enabled boolean NOT NULL,
  secrets json NOT NULL,
  settings json NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, source)
);
