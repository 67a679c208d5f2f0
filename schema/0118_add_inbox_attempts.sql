-- Attempts to take a body in by itself, stored before each. After three that failed it is rejected. A replay begins at 0.
ALTER TABLE inbox ADD COLUMN IF NOT EXISTS attempts integer NOT NULL DEFAULT 0;
-- Large bodies are found among many small ones: those above the size to which bodies are taken in together.
CREATE INDEX IF NOT EXISTS inbox_pending_large ON inbox (id) WHERE status = 'pending' AND octet_length(body) > 49152;
