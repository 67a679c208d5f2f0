ALTER TABLE inbox RENAME TO inbox_first;
ALTER TABLE inbox_first RENAME CONSTRAINT inbox_pkey TO inbox_first_pkey;
ALTER INDEX inbox_pending RENAME TO inbox_first_pending;
ALTER INDEX inbox_not_understood RENAME TO inbox_first_not_understood;
ALTER INDEX inbox_by_source RENAME TO inbox_first_by_source;
ALTER INDEX inbox_by_time RENAME TO inbox_first_by_time;
ALTER TABLE inbox_first ALTER COLUMN id DROP IDENTITY;
CREATE TABLE inbox (LIKE inbox_first) PARTITION BY RANGE (received_at);
-- Not an identity, which partitioned tables have only since Postgres 17.
CREATE SEQUENCE inbox_ids OWNED BY inbox.id;
SELECT setval('inbox_ids', coalesce((SELECT max(f.id) FROM inbox_first f), 0) + 1, false);
ALTER TABLE inbox ALTER COLUMN id SET DEFAULT nextval('inbox_ids');
CREATE INDEX inbox_pending ON inbox (id) WHERE status = 'pending';
CREATE INDEX inbox_not_understood ON inbox (org_slug, source, id) WHERE status IN ('partial', 'rejected');
CREATE INDEX inbox_by_source ON inbox (org_slug, source, id);
CREATE INDEX inbox_by_time ON inbox USING brin (received_at) WITH (autosummarize = on);
ALTER TABLE inbox ATTACH PARTITION inbox_first FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
CREATE TABLE inbox_other (LIKE inbox, PRIMARY KEY (id));
ALTER TABLE inbox ATTACH PARTITION inbox_other DEFAULT;
