-- True for an event that waits for its decision and suppresses the recipient of that, as it names no address itself.
ALTER TABLE events ADD COLUMN IF NOT EXISTS suppresses boolean;
