-- Attempts in a row that ended without an answer because the process ended or lost its lane. An answer of the platform sets
-- it back to 0.
ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS interruptions integer NOT NULL DEFAULT 0;
