-- The position of a webhook endpoint in a stream of rows that it receives in batches.
CREATE TABLE IF NOT EXISTS webhook_feeds (
  org_slug text NOT NULL,
  endpoint_id text NOT NULL,
  -- decisions, events or deliveries, as in exports.
  stream text NOT NULL,
  -- Rows from this time on are sent. The time at which the endpoint chose the stream, or was enabled.
  since timestamptz NOT NULL,
  -- The cursor after the last row that is in a batch, as in exports. NULL before the first page.
  cursor text,
  -- When the next page is read.
  due_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, endpoint_id, stream),
  FOREIGN KEY (org_slug, endpoint_id) REFERENCES webhook_endpoints (org_slug, id) ON DELETE CASCADE
);
-- Of a batch, the part of its stream: JSON with `from` and `to`, cursors, and `count`, the number of events when it was
-- stored. Its body is empty: the rows are read for each attempt. NULL for a single event.
ALTER TABLE outgoing_webhooks ADD COLUMN IF NOT EXISTS batch json;
