-- Events in the order in which they came in.
CREATE INDEX IF NOT EXISTS events_by_arrival ON events (org_slug, inbox_id, source, event_key, template_id);
