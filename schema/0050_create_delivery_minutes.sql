-- How delivery went, minute by minute, for pictures of it. Kept for 35 days.
CREATE TABLE IF NOT EXISTS delivery_minutes (
  org_slug text NOT NULL,
  minute timestamptz NOT NULL,
  -- What became of attempts in that minute.
  sent bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  retried bigint NOT NULL DEFAULT 0,
  -- How many messages were due and waited when it was looked, once in that minute, and for how long the oldest of them
  -- had; null where nothing waited, or nobody looked.
  queued bigint,
  oldest_due_seconds double precision,
  PRIMARY KEY (org_slug, minute)
);
