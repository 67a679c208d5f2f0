-- Views with stable columns for warehouses, and what exports by cursor need to skip no row that is committed late.
CREATE OR REPLACE VIEW export_decisions AS
SELECT d.org_slug, d.tracking_id, d.template_id, nullif(d.copy_id, '') AS copy_id, d.user_id, d.segment, d.mode, d.holdout,
  d.propensity, d.weights, d.policy, d.lookback_days, d.offset_days, d.decided_at
FROM decisions d;
-- Events that wait for their decision are left out until it is known whether there is one.
CREATE OR REPLACE VIEW export_events AS
SELECT e.org_slug, e.source, e.event_key AS event_id, nullif(e.template_id, '') AS template_id, e.tracking_id, e.user_id,
  e.email, e.event, e.status, e.automated, e.link, e.value, e.currency, e.occurred_at, e.received_at
FROM events e WHERE e.status <> 'waiting';
CREATE OR REPLACE VIEW export_deliveries AS
SELECT d.org_slug, d.id, d.template_id, d.copy_id, d.email, d.state, d.is_transactional, d.connection, d.message_id,
  d.reason, d.attempts, d.queued_at, d.due_at, d.expires_at, d.finished_at
FROM deliveries d;
CREATE OR REPLACE VIEW export_templates AS
SELECT t.org_slug, t.id, t.name, t.objective, t.created_at, t.updated_at, t.archived_at FROM templates t;
CREATE OR REPLACE VIEW export_variants AS
SELECT v.org_slug, v.template_id, v.id, v.name, v.active, v.created_at, v.updated_at FROM variants v;
-- Rows that were stored or changed over a minute after their time, for whatever reason. Exports list them again. Rows are
-- removed after 30 days.
CREATE TABLE IF NOT EXISTS late_rows (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  org_slug text NOT NULL,
  -- decisions, events or deliveries.
  stream text NOT NULL,
  noted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The time and the other parts of the key of the row.
  row_at timestamptz NOT NULL,
  row_key text[] NOT NULL
);
CREATE INDEX IF NOT EXISTS late_rows_by_time ON late_rows (org_slug, stream, noted_at, id);
CREATE INDEX IF NOT EXISTS events_by_time ON events USING brin (received_at) WITH (autosummarize = on);
-- The first id of version 7 of a millisecond. Ids of deliveries sort by time.
CREATE OR REPLACE FUNCTION export_first_id(at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT overlay(lpad(to_hex(floor(extract(epoch FROM at) * 1000)::bigint), 12, '0') PLACING '-' FROM 9 FOR 0) $$;
CREATE OR REPLACE FUNCTION note_late_decision() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO late_rows (org_slug, stream, row_at, row_key)
VALUES (NEW.org_slug, 'decisions', NEW.decided_at, ARRAY[NEW.tracking_id, NEW.template_id]); RETURN NULL; END $$;
CREATE OR REPLACE FUNCTION note_late_event() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO late_rows (org_slug, stream, row_at, row_key)
VALUES (NEW.org_slug, 'events', NEW.received_at, ARRAY[NEW.source, NEW.event_key, NEW.template_id]); RETURN NULL; END $$;
CREATE OR REPLACE FUNCTION note_late_delivery() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO late_rows (org_slug, stream, row_at, row_key)
VALUES (NEW.org_slug, 'deliveries', NEW.queued_at, ARRAY[NEW.id]); RETURN NULL; END $$;
CREATE OR REPLACE TRIGGER note_late_insert AFTER INSERT ON decisions FOR EACH ROW
WHEN (NEW.decided_at < clock_timestamp() - interval '1 minute') EXECUTE FUNCTION note_late_decision();
CREATE OR REPLACE TRIGGER note_late_update AFTER UPDATE ON decisions FOR EACH ROW
WHEN (NEW.decided_at < clock_timestamp() - interval '1 minute' AND OLD.user_id IS DISTINCT FROM NEW.user_id)
EXECUTE FUNCTION note_late_decision();
CREATE OR REPLACE TRIGGER note_late_insert AFTER INSERT ON events FOR EACH ROW
WHEN (NEW.received_at < clock_timestamp() - interval '1 minute' AND NEW.status <> 'waiting')
EXECUTE FUNCTION note_late_event();
CREATE OR REPLACE TRIGGER note_late_update AFTER UPDATE ON events FOR EACH ROW
WHEN (NEW.received_at < clock_timestamp() - interval '1 minute' AND NEW.status <> 'waiting'
  AND (OLD.status, OLD.tracking_id, OLD.user_id, OLD.email, OLD.link)
    IS DISTINCT FROM (NEW.status, NEW.tracking_id, NEW.user_id, NEW.email, NEW.link))
EXECUTE FUNCTION note_late_event();
CREATE OR REPLACE TRIGGER note_late_insert AFTER INSERT ON deliveries FOR EACH ROW
WHEN (NEW.id < export_first_id(clock_timestamp() - interval '1 minute')) EXECUTE FUNCTION note_late_delivery();
-- A message on its way has no result yet.
CREATE OR REPLACE TRIGGER note_late_update AFTER UPDATE ON deliveries FOR EACH ROW
WHEN (NEW.state <> 'sending' AND (OLD.state, OLD.email) IS DISTINCT FROM (NEW.state, NEW.email)
  AND NEW.id < export_first_id(clock_timestamp() - interval '1 minute')) EXECUTE FUNCTION note_late_delivery();
