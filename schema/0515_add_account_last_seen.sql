-- The last day (UTC) on which the person used the console. NULL: never, or not since sessions that have ended. Written at
-- the first use of a day. A day, not a time, because admins of organizations see it.
ALTER TABLE accounts ADD COLUMN last_seen_on date;
UPDATE accounts a SET last_seen_on = s.last_seen_on FROM (
  SELECT t.account_id, (max(t.last_seen_at) AT TIME ZONE 'UTC')::date AS last_seen_on FROM sessions t GROUP BY t.account_id) s
WHERE s.account_id = a.id;
