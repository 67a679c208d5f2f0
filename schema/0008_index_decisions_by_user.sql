-- Events that carry no tracking id are attributed to what their user was served last.
CREATE INDEX IF NOT EXISTS decisions_by_user ON decisions (org_slug, user_id, decided_at) WHERE user_id IS NOT NULL;
