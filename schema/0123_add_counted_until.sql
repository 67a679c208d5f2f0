-- Decisions made before `counted_until` have been looked at for messages that nobody reported anything about: these count as
-- sent and not engaged with so far. Null: those before `settled_until`.
ALTER TABLE send_time_marks ADD COLUMN IF NOT EXISTS counted_until timestamptz;
