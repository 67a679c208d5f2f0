-- Retries and cancellations of all deliveries that match a filter, carried out in batches. A batch and the position after it
-- are committed together, so any node can go on after a crash.
CREATE TABLE IF NOT EXISTS bulk_actions (
  org_slug text NOT NULL,
  id text NOT NULL,
  -- `retry` or `cancel`.
  kind text NOT NULL,
  -- As in the API, with the upper time bound that was used.
  filter json NOT NULL,
  requested_by text NOT NULL,
  requested_at timestamptz NOT NULL,
  -- Of the request; the digest covers its kind and filter as received.
  idempotency_key text,
  digest text,
  -- `running`, `done` or `failed`.
  state text NOT NULL,
  -- Deliveries that matched when the action was requested, and those that have been changed.
  matched bigint NOT NULL,
  changed bigint NOT NULL DEFAULT 0,
  -- Deliveries up to this id have been handled.
  position text NOT NULL DEFAULT '',
  attempts integer NOT NULL DEFAULT 0,
  -- Why the last batch failed.
  reason text,
  worked_at timestamptz NOT NULL,
  finished_at timestamptz,
  PRIMARY KEY (org_slug, id)
);
CREATE INDEX IF NOT EXISTS bulk_actions_running ON bulk_actions (worked_at) WHERE state = 'running';
CREATE UNIQUE INDEX IF NOT EXISTS bulk_actions_by_key ON bulk_actions (org_slug, idempotency_key)
  WHERE idempotency_key IS NOT NULL;
