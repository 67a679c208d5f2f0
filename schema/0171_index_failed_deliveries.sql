-- For counting and retrying the failures of a time.
CREATE INDEX IF NOT EXISTS deliveries_failed ON deliveries (org_slug, finished_at) WHERE state = 'failed';
