-- Finds the messages to one recipient domain while the others of the queue go first.
CREATE INDEX IF NOT EXISTS deliveries_due_by_domain
  ON deliveries (org_slug, split_part(address_key, '@', -1), is_transactional, due_at, id)
  WHERE state = 'queued' AND address_key IS NOT NULL;
