-- Events without a tracking id are attributed to the user's latest decision.
CREATE INDEX IF NOT EXISTS decisions_by_user ON decisions (org_slug, user_id, decided_at) WHERE user_id IS NOT NULL;
