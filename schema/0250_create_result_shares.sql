-- Read-only links to the results of templates. A row that has expired opens nothing and can be deleted.
CREATE TABLE IF NOT EXISTS result_shares (
  org_slug text NOT NULL,
  id text NOT NULL,
  template_id text NOT NULL,
  -- SHA-256 of the link's token, lowercase hex.
  digest text NOT NULL UNIQUE,
  -- `member:ACCOUNT_ID`, `key:KEY_ID` or `token`.
  author text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, id),
  FOREIGN KEY (org_slug, template_id) REFERENCES templates (org_slug, id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS result_shares_template_idx ON result_shares (org_slug, template_id, created_at DESC);
