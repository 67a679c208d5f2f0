-- `digest` is the SHA-256 of the whole key, lowercase hex; the key itself is never stored.
CREATE TABLE IF NOT EXISTS api_keys (
  id text PRIMARY KEY,
  org_slug text NOT NULL REFERENCES organizations (slug),
  name text NOT NULL,
  scopes text[] NOT NULL,
  digest text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);
CREATE INDEX IF NOT EXISTS api_keys_org_slug_idx ON api_keys (org_slug);
