-- The audit log by who acted and by what was done.
CREATE INDEX IF NOT EXISTS audit_entries_org_slug_actor_idx ON audit_entries (org_slug, actor, id DESC);
CREATE INDEX IF NOT EXISTS audit_entries_org_slug_action_idx ON audit_entries (org_slug, action, id DESC);
