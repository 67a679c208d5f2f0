-- Addresses that nothing is sent to, one row for each reason. `address_key` is the address in the form in which addresses
-- are compared, or, once the person has been erased, `hmac:KEY:DIGEST`, a keyed digest of it. Owned by src/suppressions.
CREATE TABLE IF NOT EXISTS suppressions (
  org_slug text NOT NULL,
  address_key text NOT NULL,
  reason text NOT NULL,
  source text NOT NULL,
  suppressed_at timestamptz NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (org_slug, address_key, reason)
);
CREATE UNIQUE INDEX IF NOT EXISTS suppressions_by_id ON suppressions (org_slug, id);
-- Soft bounces of an address in a row: its row goes with a delivery, an open or a click.
CREATE TABLE IF NOT EXISTS soft_bounces (
  org_slug text NOT NULL,
  address_key text NOT NULL,
  count integer NOT NULL,
  last_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, address_key)
);
-- One row. Digests of addresses also depend on it, so that they differ from those of every other installation.
CREATE TABLE IF NOT EXISTS suppression_salt (
  salt text NOT NULL
);
INSERT INTO suppression_salt (salt)
SELECT gen_random_uuid()::text || gen_random_uuid()::text WHERE NOT EXISTS (SELECT 1 FROM suppression_salt);
