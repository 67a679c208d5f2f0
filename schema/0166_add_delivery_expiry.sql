-- A message that has not left by then fails. Null: it does not expire.
ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS expires_at timestamptz;
CREATE INDEX IF NOT EXISTS deliveries_expiring ON deliveries (expires_at)
  WHERE state = 'queued' AND expires_at IS NOT NULL;
