-- Decisions, events and the inbox become tables partitioned by time; their rows become the first partition of each.
-- Only the catalogue changes: no row is read or written. A long transaction would make this wait, and all later
-- statements with it, so it gives up soon and is tried again.
SET LOCAL lock_timeout = '2s';
LOCK TABLE inbox, events, decisions IN ACCESS EXCLUSIVE MODE;
ALTER TABLE decisions RENAME TO decisions_first;
ALTER TABLE decisions_first RENAME CONSTRAINT decisions_pkey TO decisions_first_pkey;
ALTER INDEX decisions_by_user RENAME TO decisions_first_by_user;
ALTER INDEX decisions_by_time RENAME TO decisions_first_by_time;
-- A partitioned table can have no key without the time; each partition has the key (org_slug, tracking_id, template_id).
CREATE TABLE decisions (LIKE decisions_first) PARTITION BY RANGE (decided_at);
CREATE INDEX decisions_by_user ON decisions (org_slug, user_id, decided_at) WHERE user_id IS NOT NULL;
CREATE INDEX decisions_by_time ON decisions USING brin (decided_at);
ALTER TABLE decisions ATTACH PARTITION decisions_first FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
-- For times that no other partition is there for.
CREATE TABLE decisions_other (LIKE decisions, PRIMARY KEY (org_slug, tracking_id, template_id));
ALTER TABLE decisions ATTACH PARTITION decisions_other DEFAULT;
