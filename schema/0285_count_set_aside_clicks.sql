-- Clicks that were set aside as a machine's, by reason: only in the track `automated`.
ALTER TABLE tallies ADD COLUMN IF NOT EXISTS set_aside_reported integer NOT NULL DEFAULT 0;
ALTER TABLE tallies ADD COLUMN IF NOT EXISTS set_aside_early integer NOT NULL DEFAULT 0;
ALTER TABLE tallies ADD COLUMN IF NOT EXISTS set_aside_unsubscribe integer NOT NULL DEFAULT 0;
ALTER TABLE tallies ADD COLUMN IF NOT EXISTS set_aside_burst integer NOT NULL DEFAULT 0;
ALTER TABLE tallies ADD COLUMN IF NOT EXISTS set_aside_series integer NOT NULL DEFAULT 0;
-- Messages with such clicks that no person clicked.
ALTER TABLE tallies ADD COLUMN IF NOT EXISTS only_set_aside integer NOT NULL DEFAULT 0;
