-- The audit log by when it was done.
CREATE INDEX IF NOT EXISTS audit_entries_org_slug_at_idx ON audit_entries (org_slug, at);
