-- The trace of the intake that appended the row, as a W3C `traceparent`, so that whichever node folds it does so in that
-- trace; NULL unless it is one that is sent to a collector.
ALTER TABLE tally_ledger ADD COLUMN IF NOT EXISTS traceparent text;
