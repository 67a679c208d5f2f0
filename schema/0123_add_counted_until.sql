-- Decisions made before `counted_until` have been checked for messages without reports: these count as sent and not
-- engaged with so far. Null: those before `settled_until`.
ALTER TABLE send_time_marks ADD COLUMN IF NOT EXISTS counted_until timestamptz;
