-- Decisions made before `settled_until` have been checked for messages without reports, and for advice that was
-- followed.
CREATE TABLE IF NOT EXISTS send_time_marks (
  org_slug text PRIMARY KEY,
  settled_until timestamptz NOT NULL
);
-- By time, at hardly any cost for decisions.
CREATE INDEX IF NOT EXISTS decisions_by_time ON decisions USING brin (decided_at);
