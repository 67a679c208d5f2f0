-- What came in of late is counted per source: without this, among all that ever came in.
CREATE INDEX IF NOT EXISTS inbox_by_time ON inbox USING brin (received_at) WITH (autosummarize = on);
