CREATE TABLE IF NOT EXISTS idempotency_keys (
  org_slug text NOT NULL,
  key text NOT NULL,
  -- SHA-256 of the request's body.
  digest text NOT NULL,
  delivery_id text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, key)
);
CREATE INDEX IF NOT EXISTS idempotency_keys_by_age ON idempotency_keys (created_at);
