-- By the time they came in. Each partition has the key (org_slug, source, event_key, template_id); that an event is not in
-- another one is looked up under the lock of its organization.
ALTER TABLE events RENAME TO events_first;
ALTER TABLE events_first RENAME CONSTRAINT events_pkey TO events_first_pkey;
ALTER INDEX events_by_tracking_id RENAME TO events_first_by_tracking_id;
ALTER INDEX events_waiting RENAME TO events_first_waiting;
ALTER INDEX events_waiting_for_link RENAME TO events_first_waiting_for_link;
ALTER INDEX events_by_arrival RENAME TO events_first_by_arrival;
CREATE TABLE events (LIKE events_first) PARTITION BY RANGE (received_at);
CREATE INDEX events_by_tracking_id ON events (org_slug, tracking_id, occurred_at) WHERE tracking_id IS NOT NULL;
CREATE INDEX events_waiting ON events (retry_at) WHERE status = 'waiting';
CREATE INDEX events_waiting_for_link ON events (org_slug, source, message_key)
  WHERE status = 'waiting' AND message_key IS NOT NULL;
CREATE INDEX events_by_arrival ON events (org_slug, inbox_id, source, event_key, template_id);
ALTER TABLE events ATTACH PARTITION events_first FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
CREATE TABLE events_other (LIKE events, PRIMARY KEY (org_slug, source, event_key, template_id));
ALTER TABLE events ATTACH PARTITION events_other DEFAULT;
