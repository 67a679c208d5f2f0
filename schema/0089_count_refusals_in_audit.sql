-- Why requests were refused, for entries that count refusals within a minute; null for all other entries. Entries with a
-- reason are removed after 30 days.
ALTER TABLE audit_entries ADD COLUMN IF NOT EXISTS refusal text;
CREATE INDEX IF NOT EXISTS audit_entries_refusals_idx ON audit_entries (at) WHERE refusal IS NOT NULL;
