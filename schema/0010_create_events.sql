-- One normalized event per decision it is attributed to, or one while there is none. `event_key` makes it the same event
-- when it arrives again. `tracking_id` and `template_id` are those of the decision; before that the tracking id it carries
-- and an empty text. `named_template_id` is the template the event itself names. `status`: `attributed`, `waiting` (for its
-- decision, looked for again at `retry_at`), `unmatched` (given up).
CREATE TABLE IF NOT EXISTS events (
  org_slug text NOT NULL,
  source text NOT NULL,
  event_key text NOT NULL,
  template_id text NOT NULL,
  tracking_id text,
  named_template_id text,
  user_id text,
  inbox_id bigint NOT NULL,
  event text NOT NULL,
  occurred_at timestamptz NOT NULL,
  received_at timestamptz NOT NULL,
  automated boolean NOT NULL,
  link text,
  status text NOT NULL,
  retry_at timestamptz,
  PRIMARY KEY (org_slug, source, event_key, template_id)
);
CREATE INDEX IF NOT EXISTS events_by_tracking_id ON events (org_slug, tracking_id, occurred_at) WHERE tracking_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS events_waiting ON events (retry_at) WHERE status = 'waiting';
