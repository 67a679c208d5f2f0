-- Keys with which a connection signs its messages (DKIM).
CREATE TABLE IF NOT EXISTS dkim_keys (
  org_slug text NOT NULL,
  connection text NOT NULL,
  selector text NOT NULL,
  domain text NOT NULL,
  -- Sealed under SECRET_KEY.
  private_key text NOT NULL,
  public_key text NOT NULL,
  bits integer NOT NULL,
  signing boolean NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, connection, selector),
  FOREIGN KEY (org_slug, connection) REFERENCES connections (org_slug, name) ON DELETE CASCADE
);
-- A connection signs with one key at most.
CREATE UNIQUE INDEX IF NOT EXISTS dkim_keys_signing ON dkim_keys (org_slug, connection) WHERE signing;
