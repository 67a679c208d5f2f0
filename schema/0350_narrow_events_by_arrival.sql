-- Events in order of the arrival of their bodies. The earlier index also contained the key of each event: 104 bytes for
-- an event instead of 11. PostgreSQL sorts the events of a body after it reads them.
-- If there are events, `journal/retention/Indexes.ts` builds the index of each partition without a lock, and then drops
-- the earlier index. Nodes of earlier releases can use either index.
DO $$ BEGIN IF EXISTS (SELECT FROM events) THEN
  CREATE INDEX events_by_body ON ONLY events (org_slug, inbox_id); ELSE
  DROP INDEX events_by_arrival; CREATE INDEX events_by_body ON events (org_slug, inbox_id); END IF; END $$;
