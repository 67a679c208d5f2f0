-- The decisions made under a caller's own tracking id, so that a retry finds its decision without knowing its time:
-- the first 128 bits of the SHA-256 of organization, tracking id and template. Tracking ids of our own come once
-- only.
CREATE TABLE IF NOT EXISTS decision_keys (
  key uuid NOT NULL,
  org_slug text NOT NULL,
  decided_at timestamptz NOT NULL,
  PRIMARY KEY (key)
);
