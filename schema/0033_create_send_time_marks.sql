-- Decisions made before `settled_until` have been looked at for messages that nobody reported anything about, and for advice
-- that was followed.
CREATE TABLE IF NOT EXISTS send_time_marks (
  org_slug text PRIMARY KEY,
  settled_until timestamptz NOT NULL
);
-- By time, at next to no cost for whoever decides.
CREATE INDEX IF NOT EXISTS decisions_by_time ON decisions USING brin (decided_at);
