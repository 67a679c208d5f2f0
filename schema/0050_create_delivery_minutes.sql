-- How delivery went, minute by minute, for pictures of it. Kept for 35 days.
CREATE TABLE IF NOT EXISTS delivery_minutes (
  org_slug text NOT NULL,
  minute timestamptz NOT NULL,
  -- Outcomes of attempts in that minute.
  sent bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  retried bigint NOT NULL DEFAULT 0,
  -- A sample of the queue, once in that minute: the number of due messages and the age of the oldest. Null where none
  -- waited or no sample was taken.
  queued bigint,
  oldest_due_seconds double precision,
  PRIMARY KEY (org_slug, minute)
);
