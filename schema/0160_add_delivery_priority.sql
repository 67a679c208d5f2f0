-- Transactional messages leave before bulk messages. Rows of earlier releases count as bulk.
ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS is_transactional boolean NOT NULL DEFAULT FALSE;
CREATE INDEX IF NOT EXISTS deliveries_due_by_priority ON deliveries (org_slug, is_transactional, due_at, id)
  WHERE state = 'queued';
