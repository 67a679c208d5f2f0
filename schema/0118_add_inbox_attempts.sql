-- Attempts to take a body in by itself, stored before each. After three that failed it is rejected. A replay begins at 0.
ALTER TABLE inbox ADD COLUMN IF NOT EXISTS attempts integer NOT NULL DEFAULT 0;
