-- The e-mail address that an event names beside the user.
ALTER TABLE events ADD COLUMN IF NOT EXISTS email text;
-- Events of a person that belong to no decision, for the story of the person.
CREATE INDEX IF NOT EXISTS events_of_user ON events (org_slug, user_id, occurred_at)
  WHERE template_id = '' AND user_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS events_of_email ON events (org_slug, lower(email), occurred_at)
  WHERE template_id = '' AND email IS NOT NULL;
