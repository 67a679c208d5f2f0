-- Bytes of webhook bodies that each organization stored in a day (UTC), and bodies refused for its quota. Nodes add to it
-- once a second.
CREATE TABLE IF NOT EXISTS webhook_usage (
  org_slug text NOT NULL REFERENCES organizations (slug) ON DELETE CASCADE,
  day date NOT NULL,
  bytes bigint NOT NULL,
  refused bigint NOT NULL,
  PRIMARY KEY (org_slug, day)
);
