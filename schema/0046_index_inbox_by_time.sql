-- Counts recently received bodies per source without reading older ones.
CREATE INDEX IF NOT EXISTS inbox_by_time ON inbox USING brin (received_at) WITH (autosummarize = on);
