-- Webhook bodies as they were received, stored before they are answered. `status`: `pending` until normalized, then
-- `done`, `partial` (some items were not understood) or `rejected` (nothing of it was). `faults` says of each such item
-- where it is and why.
CREATE TABLE IF NOT EXISTS inbox (
  id bigint GENERATED ALWAYS AS IDENTITY,
  org_slug text NOT NULL,
  source text NOT NULL,
  received_at timestamptz NOT NULL,
  headers json NOT NULL,
  body bytea NOT NULL,
  status text NOT NULL,
  events integer,
  duplicates integer,
  ignored integer,
  faults json,
  PRIMARY KEY (id)
);
CREATE INDEX IF NOT EXISTS inbox_pending ON inbox (id) WHERE status = 'pending';
CREATE INDEX IF NOT EXISTS inbox_not_understood ON inbox (org_slug, source, id) WHERE status IN ('partial', 'rejected');
