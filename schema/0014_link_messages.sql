-- A platform's own name of a message, linked to a tracking id by an event that carried both (usually the send), so that
-- opens and clicks, which carry only the first, find their decision.
CREATE TABLE IF NOT EXISTS attribution_links (
  org_slug text NOT NULL,
  source text NOT NULL,
  message_key text NOT NULL,
  tracking_id text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, source, message_key)
);
ALTER TABLE events ADD COLUMN IF NOT EXISTS message_key text;
CREATE INDEX IF NOT EXISTS events_waiting_for_link ON events (org_slug, source, message_key)
  WHERE status = 'waiting' AND message_key IS NOT NULL;
CREATE INDEX IF NOT EXISTS inbox_by_source ON inbox (org_slug, source, id);
