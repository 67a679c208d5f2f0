-- The recipient's address in the form in which addresses are compared, so that queued messages to a suppressed address are
-- found. Null in rows of earlier releases: their addresses are compared when they are sent.
ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS address_key text;
CREATE INDEX IF NOT EXISTS deliveries_queued_by_address ON deliveries (org_slug, address_key)
  WHERE state = 'queued' AND address_key IS NOT NULL;
